// Few rows by transposed weights: sums go in the order of k, as they do without the passes.
func.func @main(%w0: tensor<90x300xf32>, %x0: tensor<300xf32>, %w1: tensor<90x800xf32>, %x1: tensor<5x800xf32>, %w2: tensor<90x300xbf16>, %x2: tensor<3x300xf32>, %w3: tensor<90x300xbf16>, %x3: tensor<8x300xf32>, %w4: tensor<90x300xi8>, %x4: tensor<8x300xf32>, %w5: tensor<90x300xi8>, %x5: tensor<300xf32>, %w6: tensor<90x800xui8>, %x6: tensor<2x800xf32>, %w7: tensor<300x90xf32>, %x7: tensor<4x300xf32>, %w8: tensor<7x300xf64>, %x8: tensor<4x300xf64>, %w9: tensor<33x300xf64>, %x9: tensor<4x300xf64>, %w10: tensor<90x300xbf16>, %x10: tensor<4x300xbf16>) -> (tensor<90xf32>, tensor<5x90xf32>, tensor<3x90xf32>, tensor<8x90xf32>, tensor<8x90xf32>, tensor<90xf32>, tensor<90x2xbf16>, tensor<4x90xf32>, tensor<4x7xf64>, tensor<4x33xf64>, tensor<4x90xbf16>) {
  %c0 = stablehlo.transpose %w0, dims = [1, 0] : (tensor<90x300xf32>) -> tensor<300x90xf32>
  %r0 = stablehlo.dot_general %x0, %c0, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300x90xf32>) -> tensor<90xf32>
  %c1 = stablehlo.transpose %w1, dims = [1, 0] : (tensor<90x800xf32>) -> tensor<800x90xf32>
  %r1 = stablehlo.dot_general %x1, %c1, contracting_dims = [1] x [0] : (tensor<5x800xf32>, tensor<800x90xf32>) -> tensor<5x90xf32>
  %t2 = stablehlo.convert %w2 : (tensor<90x300xbf16>) -> tensor<90x300xf32>
  %c2 = stablehlo.transpose %t2, dims = [1, 0] : (tensor<90x300xf32>) -> tensor<300x90xf32>
  %r2 = stablehlo.dot_general %x2, %c2, contracting_dims = [1] x [0] : (tensor<3x300xf32>, tensor<300x90xf32>) -> tensor<3x90xf32>
  %t3 = stablehlo.transpose %w3, dims = [1, 0] : (tensor<90x300xbf16>) -> tensor<300x90xbf16>
  %c3 = stablehlo.convert %t3 : (tensor<300x90xbf16>) -> tensor<300x90xf32>
  %r3 = stablehlo.dot_general %x3, %c3, contracting_dims = [1] x [0] : (tensor<8x300xf32>, tensor<300x90xf32>) -> tensor<8x90xf32>
  %t4 = stablehlo.transpose %w4, dims = [1, 0] : (tensor<90x300xi8>) -> tensor<300x90xi8>
  %c4 = stablehlo.convert %t4 : (tensor<300x90xi8>) -> tensor<300x90xf32>
  %r4 = stablehlo.dot_general %x4, %c4, contracting_dims = [1] x [0] : (tensor<8x300xf32>, tensor<300x90xf32>) -> tensor<8x90xf32>
  %t5 = stablehlo.convert %w5 : (tensor<90x300xi8>) -> tensor<90x300xf32>
  %c5 = stablehlo.transpose %t5, dims = [1, 0] : (tensor<90x300xf32>) -> tensor<300x90xf32>
  %r5 = stablehlo.dot_general %x5, %c5, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300x90xf32>) -> tensor<90xf32>
  %t6 = stablehlo.convert %w6 : (tensor<90x800xui8>) -> tensor<90x800xf32>
  %c6 = stablehlo.transpose %t6, dims = [1, 0] : (tensor<90x800xf32>) -> tensor<800x90xf32>
  %r6 = stablehlo.dot_general %c6, %x6, contracting_dims = [0] x [1] : (tensor<800x90xf32>, tensor<2x800xf32>) -> tensor<90x2xbf16>
  %c7 = stablehlo.transpose %w7, dims = [1, 0] : (tensor<300x90xf32>) -> tensor<90x300xf32>
  %r7 = stablehlo.dot_general %x7, %c7, contracting_dims = [1] x [1] : (tensor<4x300xf32>, tensor<90x300xf32>) -> tensor<4x90xf32>
  %c8 = stablehlo.transpose %w8, dims = [1, 0] : (tensor<7x300xf64>) -> tensor<300x7xf64>
  %r8 = stablehlo.dot_general %x8, %c8, contracting_dims = [1] x [0] : (tensor<4x300xf64>, tensor<300x7xf64>) -> tensor<4x7xf64>
  %c9 = stablehlo.transpose %w9, dims = [1, 0] : (tensor<33x300xf64>) -> tensor<300x33xf64>
  %r9 = stablehlo.dot_general %x9, %c9, contracting_dims = [1] x [0] : (tensor<4x300xf64>, tensor<300x33xf64>) -> tensor<4x33xf64>
  %c10 = stablehlo.transpose %w10, dims = [1, 0] : (tensor<90x300xbf16>) -> tensor<300x90xbf16>
  %r10 = stablehlo.dot_general %x10, %c10, contracting_dims = [1] x [0] : (tensor<4x300xbf16>, tensor<300x90xbf16>) -> tensor<4x90xbf16>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10 : tensor<90xf32>, tensor<5x90xf32>, tensor<3x90xf32>, tensor<8x90xf32>, tensor<8x90xf32>, tensor<90xf32>, tensor<90x2xbf16>, tensor<4x90xf32>, tensor<4x7xf64>, tensor<4x33xf64>, tensor<4x90xbf16>
}
