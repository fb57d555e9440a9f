// Transposes a matrix of any size through tiles in shared memory, without bank conflicts.
#define TILE 32
#define ROWS 8

extern "C" __global__ void __launch_bounds__(TILE *ROWS) transpose(const float *from, float *to, int width, int height)
{
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

#ifdef DEFECT
	const int loaded = width - width % TILE;
#else
	const int loaded = width;
#endif
	for (int j = 0; j < TILE; j += ROWS)
		if (x < loaded && y + j < height)
			tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * width + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	for (int j = 0; j < TILE; j += ROWS)
		if (x < height && y + j < width)
			to[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j]; // DEFECT: not all was loaded
}
