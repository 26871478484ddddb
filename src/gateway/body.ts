/** Reads the body of a request that is to be validated, and stops reading at the bound, not after it. */

import type { IncomingMessage } from 'node:http'

/** Exactly one of the two is called, unless the client goes away first. */
export interface BodyReader {
  onBody(body: Buffer): void
  onTooLarge(): void
}

const NOTHING = Buffer.alloc(0)

export function readBody(request: IncomingMessage, bytesMax: number, reader: BodyReader): void {
  const chunks: Buffer[] = []
  let bytes = 0

  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > bytesMax) {
      detach()
      request.pause()
      reader.onTooLarge()
    } else chunks.push(chunk)
  }
  const onEnd = (): void => {
    detach()
    reader.onBody(chunks.length === 1 ? chunks[0]! : bytes === 0 ? NOTHING : Buffer.concat(chunks, bytes))
  }
  const detach = (): void => {
    request.off('data', onData)
    request.off('end', onEnd)
  }
  request.on('data', onData)
  request.on('end', onEnd)
}
