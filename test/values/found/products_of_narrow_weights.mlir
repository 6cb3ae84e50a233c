// Weights of fewer bits, widened before a product of few rows, which reads them as they are.
func.func @main(%w0: tensor<90x300xbf16>, %x0: tensor<300xf32>, %w1: tensor<90x300xi8>, %x1: tensor<300xf32>, %w2: tensor<300x90xui8>, %x2: tensor<300xf32>, %w3: tensor<300x90xi8>, %x3: tensor<3x300xf32>, %w4: tensor<300x90xf16>, %x4: tensor<20x300xf32>, %w5: tensor<90x300xi16>, %x5: tensor<5x300xbf16>, %w6: tensor<300x90xi4>, %x6: tensor<5x300xf32>, %w7: tensor<90x300xi32>, %x7: tensor<2x300xf64>, %w8: tensor<300x90xbf16>, %x8: tensor<17x300xbf16>, %w9: tensor<300x90xf32>, %x9: tensor<9x300xf64>) -> (tensor<90xf32>, tensor<90xf32>, tensor<90xf32>, tensor<3x90xf32>, tensor<20x90xf32>, tensor<5x90xf32>, tensor<5x90xf32>, tensor<2x90xf64>, tensor<17x90xf32>, tensor<9x90xf64>) {
  %c0 = stablehlo.convert %w0 : (tensor<90x300xbf16>) -> tensor<90x300xf32>
  %r0 = stablehlo.dot_general %c0, %x0, contracting_dims = [1] x [0] : (tensor<90x300xf32>, tensor<300xf32>) -> tensor<90xf32>
  %c1 = stablehlo.convert %w1 : (tensor<90x300xi8>) -> tensor<90x300xf32>
  %r1 = stablehlo.dot_general %c1, %x1, contracting_dims = [1] x [0] : (tensor<90x300xf32>, tensor<300xf32>) -> tensor<90xf32>
  %c2 = stablehlo.convert %w2 : (tensor<300x90xui8>) -> tensor<300x90xf32>
  %r2 = stablehlo.dot_general %c2, %x2, contracting_dims = [0] x [0] : (tensor<300x90xf32>, tensor<300xf32>) -> tensor<90xf32>
  %c3 = stablehlo.convert %w3 : (tensor<300x90xi8>) -> tensor<300x90xf32>
  %r3 = stablehlo.dot_general %x3, %c3, contracting_dims = [1] x [0] : (tensor<3x300xf32>, tensor<300x90xf32>) -> tensor<3x90xf32>
  %c4 = stablehlo.convert %w4 : (tensor<300x90xf16>) -> tensor<300x90xf32>
  %r4 = stablehlo.dot_general %x4, %c4, contracting_dims = [1] x [0] : (tensor<20x300xf32>, tensor<300x90xf32>) -> tensor<20x90xf32>
  %c5 = stablehlo.convert %w5 : (tensor<90x300xi16>) -> tensor<90x300xf32>
  %r5 = stablehlo.dot_general %x5, %c5, contracting_dims = [1] x [1] : (tensor<5x300xbf16>, tensor<90x300xf32>) -> tensor<5x90xf32>
  %c6 = stablehlo.convert %w6 : (tensor<300x90xi4>) -> tensor<300x90xf32>
  %r6 = stablehlo.dot_general %x6, %c6, contracting_dims = [1] x [0] : (tensor<5x300xf32>, tensor<300x90xf32>) -> tensor<5x90xf32>
  %c7 = stablehlo.convert %w7 : (tensor<90x300xi32>) -> tensor<90x300xf64>
  %r7 = stablehlo.dot_general %x7, %c7, contracting_dims = [1] x [1] : (tensor<2x300xf64>, tensor<90x300xf64>) -> tensor<2x90xf64>
  %c8 = stablehlo.convert %w8 : (tensor<300x90xbf16>) -> tensor<300x90xf32>
  %r8 = stablehlo.dot_general %x8, %c8, contracting_dims = [1] x [0] : (tensor<17x300xbf16>, tensor<300x90xf32>) -> tensor<17x90xf32>
  %c9 = stablehlo.convert %w9 : (tensor<300x90xf32>) -> tensor<300x90xf64>
  %r9 = stablehlo.dot_general %x9, %c9, contracting_dims = [1] x [0] : (tensor<9x300xf64>, tensor<300x90xf64>) -> tensor<9x90xf64>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9 : tensor<90xf32>, tensor<90xf32>, tensor<90xf32>, tensor<3x90xf32>, tensor<20x90xf32>, tensor<5x90xf32>, tensor<5x90xf32>, tensor<2x90xf64>, tensor<17x90xf32>, tensor<9x90xf64>
}
