/** Packs a data folder into one compressed file, and unpacks it: tar for names and links, zstd for size. */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

const TAR_BYTES_MAX = 64 * 1024 * 1024
const LEVEL_MAX = 22

/** Returns the size of the packed file in bytes. */
export function pack(folder: string, path: string): number {
  const tar = execFileSync('tar', ['-c', '-f', '-', '-C', folder, '.'], { maxBuffer: TAR_BYTES_MAX })
  const packed = zstdCompressSync(tar, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL_MAX } })
  writeFileSync(path, packed)
  return packed.length
}

export function unpack(path: string, folder: string): void {
  const tar = zstdDecompressSync(readFileSync(path), { maxOutputLength: TAR_BYTES_MAX })
  execFileSync('tar', ['-x', '-f', '-', '-C', folder], { input: tar })
}
