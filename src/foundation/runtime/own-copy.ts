/** Copies bytes into memory of their own. `Buffer.from` takes a part of 64 KB, which stay in memory as long as any of their parts. */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}
