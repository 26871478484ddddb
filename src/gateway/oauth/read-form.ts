/** Reads the body of a request to an OAuth path: forms are short. */

import type { ClientRequest } from '../connection/client.ts'

/** Passes on the whole body, or `bytesMax` bytes and one more of a longer one, of which nothing more is read then. */
export function readForm(request: ClientRequest, bytesMax: number, onBody: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isRead = false

  const end = (): void => {
    if (isRead) return
    isRead = true
    request.off('data', onData)
    if (!request.complete) request.pause()
    onBody(Buffer.concat(chunks).subarray(0, bytesMax + 1))
  }
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > bytesMax) end()
  }
  request.on('data', onData)
  request.on('end', end)
}
