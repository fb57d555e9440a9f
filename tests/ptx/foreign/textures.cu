/* SPDX-License-Identifier: MIT
 *
 * Textures and surfaces of all shapes.
 */
__global__ void reads(cudaTextureObject_t texture, float4 *out)
{
	float x = threadIdx.x * 0.25f, y = blockIdx.x * 0.5f;
	float4 sum = tex2D<float4>(texture, x, y);

	sum.x += tex1Dfetch<float>(texture, (int)threadIdx.x);
	sum.y += tex1D<float>(texture, x);
	sum.z += tex3D<float>(texture, x, y, 0.5f);
	sum.w += tex2DLayered<float>(texture, x, y, 3);
	sum.x += texCubemap<float>(texture, x, y, 1.0f);
	sum.y += tex2DLod<float>(texture, x, y, 2.0f);
	sum.z += tex2DGrad<float>(texture, x, y, make_float2(1, 0), make_float2(0, 1));
	sum.w += tex2Dgather<float4>(texture, x, y, 1).z;
	out[threadIdx.x] = sum;
}

__global__ void writes(cudaSurfaceObject_t surface, uchar4 *in)
{
	uchar4 old;

	surf2Dread(&old, surface, threadIdx.x * 4, blockIdx.x);
	old.x += in[threadIdx.x].x;
	surf2Dwrite(old, surface, threadIdx.x * 4, blockIdx.x, cudaBoundaryModeClamp);
	surf1Dwrite(1.0f, surface, threadIdx.x * 4);
	surf3Dwrite(make_int2(1, 2), surface, threadIdx.x * 8, 1, 2, cudaBoundaryModeZero);
	surf2DLayeredwrite((short)3, surface, threadIdx.x * 2, 1, 2);
}
