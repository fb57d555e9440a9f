/* SPDX-License-Identifier: MIT */
void transpose(const float *from, float *to)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			to[(long)j * rows + i] = from[(long)i * columns + j];
}
