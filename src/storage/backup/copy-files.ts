/** Copies files and computes their SHA-256. A copy is synced before the function returns. */

import { createHash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { BackupFile } from './manifest.ts'

const CHUNK_BYTES = 1024 * 1024

/** Copies at most `bytesMax` bytes of a file, or a symbolic link as it is. */
export function copyFile(from: string, to: string, bytesMax = Infinity): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  if (lstatSync(from).isSymbolicLink()) return symlinkSync(readlinkSync(from), to)
  const source = openSync(from, 'r')
  try {
    const target = openSync(to, 'wx', 0o600)
    try {
      eachChunk(source, bytesMax, (chunk) => {
        for (let written = 0; written < chunk.length;) written += writeSync(target, chunk, written)
      })
      fsyncSync(target)
    } finally {
      closeSync(target)
    }
  } finally {
    closeSync(source)
  }
}

/** Describes the file at `path` as the manifest lists it. */
export function describeFile(folder: string, path: string): BackupFile {
  const full = join(folder, path)
  if (lstatSync(full).isSymbolicLink()) return { path, link: readlinkSync(full) }
  const hash = createHash('sha256')
  let bytes = 0
  const file = openSync(full, 'r')
  try {
    eachChunk(file, Infinity, (chunk) => {
      hash.update(chunk)
      bytes += chunk.length
    })
  } finally {
    closeSync(file)
  }
  return { path, bytes, sha256: hash.digest('hex') }
}

/** Returns the paths of all files and links below `folder`, relative to it and without empty folders. */
export function filesIn(folder: string, isWanted: (path: string, isFolder: boolean) => boolean = () => true): string[] {
  const found: string[] = []
  const visit = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name)
      if (!isWanted(relative(folder, full), entry.isDirectory())) continue
      if (entry.isDirectory()) visit(full)
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(relative(folder, full))
    }
  }
  visit(folder)
  return found.sort()
}

/** Syncs the folder and all folders below it, so that file names are on disk too. */
export function syncFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) syncFolders(join(folder, entry.name))
  }
  const file = openSync(folder, 'r')
  fsyncSync(file)
  closeSync(file)
}

function eachChunk(file: number, bytesMax: number, onChunk: (chunk: Buffer) => void): void {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let at = 0; at < bytesMax;) {
    const bytes = readSync(file, buffer, 0, Math.min(CHUNK_BYTES, bytesMax - at), at)
    if (bytes === 0) return
    onChunk(buffer.subarray(0, bytes))
    at += bytes
  }
}
