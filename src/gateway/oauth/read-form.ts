/** Reads the body of a request to an OAuth path: forms are short. */

import type { ClientRequest } from '../connection/client.ts'

/** Passes on the whole body, or a little more than `bytesMax` bytes of a longer one. The rest is discarded. */
export function readForm(request: ClientRequest, bytesMax: number, onBody: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isRead = false
  const end = (): void => {
    if (isRead) return
    isRead = true
    onBody(Buffer.concat(chunks).subarray(0, bytesMax + 1))
  }
  request.on('data', (chunk) => {
    if (isRead) return
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > bytesMax) end()
  })
  request.on('end', end)
}
