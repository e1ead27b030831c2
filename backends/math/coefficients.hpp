// Written by fit_coefficients.py. Minimax coefficients, lowest power first.
// clang-format off
#pragma once

namespace fusewright::math_source {

template <class T>
struct Coefficients;

template <>
struct Coefficients<float> {
  // exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2
  static constexpr float kExp[] = {0x1.fffffc0000000p-2f, 0x1.5554920000000p-3f, 0x1.5558f20000000p-5f, 0x1.1239f20000000p-7f, 0x1.6a241a0000000p-10f};
  // expm1(r) = r + r^2 P(r), |r| <= ln(2)/2
  static constexpr float kExpm1[] = {0x1.0000000000000p-1f, 0x1.5555540000000p-3f, 0x1.5554b20000000p-5f, 0x1.11118a0000000p-7f, 0x1.6d72080000000p-10f, 0x1.a032c00000000p-13f};
  // 2^r = 1 + r (P(r) + kExp2Low), |r| <= 1/2
  static constexpr float kExp2[] = {0x1.62e4300000000p-1f, 0x1.ebfbe00000000p-3f, 0x1.c6b08a0000000p-5f, 0x1.3b29f40000000p-7f, 0x1.5d8a880000000p-10f, 0x1.445cc80000000p-13f, 0x1.fde5960000000p-17f};
  static constexpr float kExp2Low = -0x1.e3ade00000000p-30f;
  // log(1+f) = f - f^2/2 + f^3 P(f), |f| <= 1/3
  static constexpr float kLogF[] = {0x1.5555580000000p-2f, -0x1.0000060000000p-2f, 0x1.9996cc0000000p-3f, -0x1.55511a0000000p-3f, 0x1.2506180000000p-3f, -0x1.0092000000000p-3f, 0x1.b718d20000000p-4f, -0x1.87ce640000000p-4f, 0x1.f0c91c0000000p-4f, -0x1.d2f9fc0000000p-4f};
  // log2((1+s)/(1-s)) = s (c0 + c1 u + u^2 P(u)), u = s^2
  static constexpr float kLog2Tail[] = {0x1.27770e0000000p-1f, 0x1.a5bbf80000000p-2f, 0x1.59ee580000000p-2f};
  // tanh(x) = x + x u P(u), u = x^2 <= 1
  static constexpr float kTanh[] = {-0x1.55553c0000000p-2f, 0x1.110be40000000p-3f, -0x1.b9623a0000000p-5f, 0x1.6009b60000000p-6f, -0x1.04608e0000000p-7f, 0x1.2da3c60000000p-9f, -0x1.77db600000000p-12f};
  // sinh(x) = x + x u P(u), u = x^2 <= 1
  static constexpr float kSinh[] = {0x1.5555560000000p-3f, 0x1.1110e00000000p-7f, 0x1.a022bc0000000p-13f, 0x1.756c1e0000000p-19f};
  // sin(x) = x + x u P(u), u = x^2, |x| <= pi/4
  static constexpr float kSin[] = {-0x1.5555460000000p-3f, 0x1.1107760000000p-7f, -0x1.9952fa0000000p-13f};
  // cos(x) = 1 - u/2 + u^2 P(u), u = x^2, |x| <= pi/4
  static constexpr float kCos[] = {0x1.55554a0000000p-5f, -0x1.6c0c280000000p-10f, 0x1.99e80c0000000p-16f};
  // tan(x) = x + x u P(u), u = x^2, |x| <= pi/4
  static constexpr float kTan[] = {0x1.5555600000000p-2f, 0x1.110d9c0000000p-3f, 0x1.bada500000000p-5f, 0x1.5cb9b60000000p-6f, 0x1.62f5680000000p-7f, 0x1.7ea2860000000p-14f, 0x1.1ed0260000000p-8f};
  // erf(x) = x + x P(u), u = x^2 <= 1
  static constexpr float kErf[] = {0x1.06eba80000000p-3f, -0x1.81273e0000000p-2f, 0x1.ce2ce60000000p-4f, -0x1.b7f71a0000000p-6f, 0x1.53f2240000000p-8f, -0x1.a3515e0000000p-11f, 0x1.4771fe0000000p-14f};
  // log(erfc(a)) = P(a), 1 <= a <= 4
  static constexpr float kLogErfc[] = {-0x1.6621000000000p-12f, -0x1.2088ea0000000p+0f, -0x1.46baee0000000p-1f, -0x1.a6532e0000000p-4f, 0x1.65cb400000000p-6f, -0x1.825a5e0000000p-9f, 0x1.86dc140000000p-13f};
  // erfc(a) exp(a^2) (1 + 2a) = P(t) + kErfcxLow, t = (a-2)/(a+2)
  static constexpr float kErfcx[] = {0x1.46e80e0000000p+0f, -0x1.7bf5ec0000000p-4f, -0x1.5407c00000000p-3f, 0x1.4ffa140000000p-3f, -0x1.bc2b5e0000000p-5f, -0x1.0736f00000000p-7f, 0x1.1dc99a0000000p-7f, 0x1.4abc740000000p-10f, -0x1.7c874c0000000p-10f, -0x1.b934d20000000p-12f, 0x1.9bd8cc0000000p-13f, 0x1.9115e00000000p-14f};
  static constexpr float kErfcxLow = 0x1.1465100000000p-27f;
  // asin(x) = x + x u P(u), u = x^2 <= 1/4
  static constexpr float kAsin[] = {0x1.5555ca0000000p-3f, 0x1.33015e0000000p-4f, 0x1.748cba0000000p-5f, 0x1.8b8f5e0000000p-6f, 0x1.59f6080000000p-5f};
  // atan(x) = x + x u P(u), u = x^2 <= 1
  static constexpr float kAtan[] = {-0x1.55553e0000000p-2f, 0x1.9991e40000000p-3f, -0x1.2420860000000p-3f, 0x1.c08c500000000p-4f, -0x1.5809360000000p-4f, 0x1.da2b240000000p-5f, -0x1.fd84140000000p-6f, 0x1.6433f00000000p-7f, -0x1.d38ff80000000p-10f};
  // 2 / (1 ln 2)
  static constexpr float kLog2C0High = 0x1.7154760000000p+1f;
  static constexpr float kLog2C0Low = 0x1.4ae0c00000000p-25f;
  // 2 / (3 ln 2)
  static constexpr float kLog2C1High = 0x1.ec709e0000000p-1f;
  static constexpr float kLog2C1Low = -0x1.e2fe020000000p-28f;
};

template <>
struct Coefficients<double> {
  // exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2
  static constexpr double kExp[] = {0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.555555555086dp-5, 0x1.1111111127c28p-7, 0x1.6c16c1842d9f6p-10, 0x1.a01a012a47fb6p-13, 0x1.a0199a022ba83p-16, 0x1.71df256516addp-19, 0x1.28ad7cbc56fe4p-22, 0x1.ad7f6b50d4af9p-26};
  // expm1(r) = r + r^2 P(r), |r| <= ln(2)/2
  static constexpr double kExpm1[] = {0x1.0000000000000p-1, 0x1.5555555555559p-3, 0x1.555555555553fp-5, 0x1.111111110f6d5p-7, 0x1.6c16c16c1f083p-10, 0x1.a01a01afd64fep-13, 0x1.a01a017bc55fep-16, 0x1.71ddf877f5d65p-19, 0x1.27e53629d47b1p-22, 0x1.af5e81d9e696bp-26, 0x1.1ee892af06e09p-29};
  // 2^r = 1 + r (P(r) + kExp2Low), |r| <= 1/2
  static constexpr double kExp2[] = {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fba4e22p-7, 0x1.5d87fe78a2694p-10, 0x1.430912f883e0ep-13, 0x1.ffcbfc74e7673p-17, 0x1.62c021e23ec02p-20, 0x1.b524dd2e1ff5ep-24, 0x1.e4d06cd1bb2fdp-28, 0x1.ea018e49fe06bp-32, 0x1.c2ce869e6c6f1p-36};
  static constexpr double kExp2Low = 0x1.9ba162a3b23e1p-56;
  // log((1+s)/(1-s)) = 2s + s u P(u), u = s^2
  static constexpr double kLogS[] = {0x1.5555555555593p-1, 0x1.999999997f9f9p-2, 0x1.249249422a2d8p-2, 0x1.c71c51d7ecc1ap-3, 0x1.746649a73f53fp-3, 0x1.39a0969af94c1p-3, 0x1.2f1172896618ep-3};
  // log2((1+s)/(1-s)) = s (c0 + c1 u + c2 u^2 + u^3 P(u)), u = s^2
  static constexpr double kLog2Tail[] = {0x1.a61762a7ae384p-2, 0x1.484b13d733c17p-2, 0x1.0c9a85025ec03p-2, 0x1.c68f0434f703fp-3, 0x1.8a0615abad3acp-3, 0x1.593fee0cccaacp-3, 0x1.5fefb687d168dp-3};
  // tanh(x) = x + x u P(u), u = x^2 <= 1
  static constexpr double kTanh[] = {-0x1.555555555554fp-2, 0x1.1111111110b21p-3, -0x1.ba1ba1b9dd856p-5, 0x1.664f487873e64p-6, -0x1.226e3458ca1f4p-7, 0x1.d6d3aed4803a1p-9, -0x1.7da1da3f111f7p-10, 0x1.354b49a832cbbp-11, -0x1.f4de95c26f427p-13, 0x1.939b65b86a345p-14, -0x1.3f4b8f83e1bb3p-15, 0x1.df1db68302ef8p-17, -0x1.3f404f0e5d6bap-18, 0x1.552cc82dc6d82p-20, -0x1.f435a060a480ep-23, 0x1.6dde0f383fb4fp-26};
  // sinh(x) = x + x u P(u), u = x^2 <= 1
  static constexpr double kSinh[] = {0x1.5555555555555p-3, 0x1.111111111119bp-7, 0x1.a01a01a00735bp-13, 0x1.71de3a68d03e2p-19, 0x1.ae6441226ad41p-26, 0x1.61314d8d7a507p-33, 0x1.a66513016a916p-41, 0x1.d2a9d4e41e7b2p-48};
  // sin(x) = x + x u P(u), u = x^2, |x| <= pi/4
  static constexpr double kSin[] = {-0x1.5555555555548p-3, 0x1.111111110f730p-7, -0x1.a01a019be9217p-13, 0x1.71de35552b50ap-19, -0x1.ae5e4b83df9f1p-26, 0x1.5d8b5591de48cp-33};
  // cos(x) = 1 - u/2 + u^2 P(u), u = x^2, |x| <= pi/4
  static constexpr double kCos[] = {0x1.555555555554bp-5, -0x1.6c16c16c1500dp-10, 0x1.a01a019c8dd1cp-16, -0x1.27e4f7f04ffbbp-22, 0x1.1ee9dacb6925ep-29, -0x1.8fa5ec7253403p-37};
  // tan(x) = x + x u P(u), u = x^2, |x| <= pi/4
  static constexpr double kTan[] = {0x1.555555555555ep-2, 0x1.11111111105d2p-3, 0x1.ba1ba1babf336p-5, 0x1.664f485d2506cp-6, 0x1.226e3a818c656p-7, 0x1.d6d2e7a17cbe6p-9, 0x1.7db1903cddb2dp-10, 0x1.34bc072c7bd7cp-11, 0x1.ff300e68b11f9p-13, 0x1.5e6eaf6cdd629p-14, 0x1.1a0cc94c28521p-14, -0x1.aeb9ecab2c5f6p-16, 0x1.9853ff41a584ap-15, -0x1.97a60d964c5adp-16, 0x1.4901b55dbf7ffp-17};
  // erf(x) = x + x P(u), u = x^2 <= 1
  static constexpr double kErf[] = {0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d8p-4, -0x1.b82ce31354cf3p-6, 0x1.565bcd2c63143p-8, -0x1.c02db9331f63dp-11, 0x1.f9a3b953b1befp-14, -0x1.f4dcf167e2bbcp-17, 0x1.ba6915fa52a3dp-20, -0x1.6390d99da5c18p-23, 0x1.13214af1e3ec0p-26, -0x1.c4bf729078975p-30, 0x1.3baa46e26054ap-33};
  // erfc(a) exp(a^2) (1 + 2a) = P(t) + kErfcxLow, t = (a-4)/(a+4)
  static constexpr double kErfcx[] = {0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28ep-3, 0x1.f7f5df66fd7adp-7, 0x1.16ecefcfa5395p-4, -0x1.9ddb23c3e9062p-4, 0x1.7fee004e12564p-4, -0x1.0fb06dfe49fabp-4, 0x1.3079edf6823a2p-5, -0x1.09623884f1bb4p-6, 0x1.49c672865feb2p-8, -0x1.8d4a99fe737b5p-11, -0x1.a1df259dc3e4bp-13, 0x1.3be03ddebd398p-13, -0x1.99593f8755131p-16, -0x1.7884745507604p-17, 0x1.7f28bc307e914p-18, 0x1.3964b9a85b012p-22, -0x1.bb19c55518519p-21, 0x1.4b34facefac6dp-24, 0x1.d9e06fbe18902p-24, -0x1.52af00605bc5fp-26, -0x1.f415610eaefc8p-27, 0x1.4a2a8578637dcp-29, 0x1.966b254414cb8p-30};
  static constexpr double kErfcxLow = -0x1.aa0924c753d6bp-55;
  // asin(x) = x + x u P(u), u = x^2 <= 1/4
  static constexpr double kAsin[] = {0x1.5555555555578p-3, 0x1.333333332df05p-4, 0x1.6db6db722d283p-5, 0x1.f1c71a8a91069p-6, 0x1.6e8be00eed163p-6, 0x1.1c49da6c7ef20p-6, 0x1.ca21abccc6b3fp-7, 0x1.7573b1f5b7dfbp-7, 0x1.61a353c2a8550p-7, 0x1.dfbbc73005b99p-9, 0x1.658d5457137b1p-6, -0x1.5acd881da0c58p-6, 0x1.0c2d1243ba681p-5};
  // atan(x) = x + x u P(u), u = x^2 <= 1
  static constexpr double kAtan[] = {-0x1.555555555554dp-2, 0x1.9999999998c65p-3, -0x1.2492492457697p-3, 0x1.c71c71b650ba5p-4, -0x1.745d15d2c86dep-4, 0x1.3b139bec07a53p-4, -0x1.11103357ed55dp-4, 0x1.e1d49262bcfd2p-5, -0x1.aeda85e56688ep-5, 0x1.84b508ee4d9d0p-5, -0x1.5f26278923bd4p-5, 0x1.3908c81fe9652p-5, -0x1.0c9bda1db3e80p-5, 0x1.ac8db2b70b733p-6, -0x1.3111270e93621p-6, 0x1.7303084e2fefbp-7, -0x1.70030e3445b5cp-8, 0x1.1a3304c000d71p-9, -0x1.3716ae119618fp-11, 0x1.b40ebee7a0829p-14, -0x1.22ace959076c9p-17};
  // 2 / (1 ln 2)
  static constexpr double kLog2C0High = 0x1.71547652b82fep+1;
  static constexpr double kLog2C0Low = 0x1.777d0ffda0d24p-55;
  // 2 / (3 ln 2)
  static constexpr double kLog2C1High = 0x1.ec709dc3a03fdp-1;
  static constexpr double kLog2C1Low = 0x1.d27f05548af0cp-55;
  // 2 / (5 ln 2)
  static constexpr double kLog2C2High = 0x1.2776c50ef9bfep-1;
  static constexpr double kLog2C2Low = 0x1.e4b29ccc535d4p-55;
};

}  // namespace fusewright::math_source
