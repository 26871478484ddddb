/** Reads what an OAuth request sends: a form or JSON, both short. */

import type { ClientRequest } from '../connection/client.ts'

export const BODY_BYTES_MAX = 16_384

export type Pairs = readonly (readonly [string, string])[]

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Passes on the whole body, or one byte more than `BODY_BYTES_MAX` of a longer one, of which nothing more is read then. */
export function readBody(request: ClientRequest, onBody: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isRead = false

  const end = (): void => {
    if (isRead) return
    isRead = true
    request.off('data', onData)
    if (!request.complete) request.pause()
    onBody(Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX + 1))
  }
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) end()
  }
  request.on('data', onData)
  request.on('end', end)
}

/** Whether a `Content-Type` names this media type (lowercase), with any parameters. */
export function hasMediaType(contentType: string | undefined, type: string): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === type
}

/** The pairs of a form, in order, so that repetitions can be detected. */
export function readForm(body: Buffer): Pairs {
  return [...new URLSearchParams(body.toString())]
}

export function readQuery(url: string): Pairs {
  const at = url.indexOf('?')
  return at < 0 ? [] : [...new URLSearchParams(url.slice(at + 1))]
}

/** Returns null if the body is not UTF-8. */
export function readJson(body: Buffer): string | null {
  try {
    return utf8.decode(body)
  } catch {
    return null
  }
}
