module @chlo {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<2x4xf32>, %n: tensor<2xi32>, %w: tensor<2x4x3xf32>)
      -> (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xi1>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<4xf32>,
          tensor<2x3xf32>) {
    %0 = chlo.erf_inv %a : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.lgamma %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.broadcast_add %1, %b {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<2x4xf32>)
        -> tensor<2x4xf32>
    %3 = chlo.broadcast_compare %a, %2 {comparison_direction = #chlo<comparison_direction LT>}
        : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %4 = "chlo.constant_like"(%2) <{value = 2.5 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %5 = chlo.square %4 : tensor<2x4xf32> -> tensor<2x4xf32>
    %values, %places = chlo.top_k(%5, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %i = stablehlo.constant dense<1.0> : tensor<f32>
    %6:2 = chlo.scan(%a) inits(%i) dimension=0 attributes {is_reverse = true} {
    ^bb0(%x: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %x, %c : tensor<f32>
      stablehlo.return %s, %s : tensor<f32>, tensor<f32>
    } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    %7 = "chlo.ragged_dot"(%b, %w, %n) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>],
        ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [],
        lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0],
        rhs_group_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    return %1, %2, %3, %values, %places, %6#0, %7 : tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xi1>, tensor<2x2xf32>,
        tensor<2x2xi32>, tensor<4xf32>, tensor<2x3xf32>
  }
}
