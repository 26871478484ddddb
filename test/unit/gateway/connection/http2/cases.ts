/** What a client sends, and what must come of it. */

import * as h2 from './frames.ts'

export const PROTOCOL = 1
export const FLOW_CONTROL = 3
export const STREAM_CLOSED = 5
export const FRAME_SIZE = 6
export const COMPRESSION = 9
export const CALM = 11

export type Expected =
  | { readonly goaway: readonly number[] }
  | { readonly rst: readonly number[] }
  | { readonly status: number }
  | 'closed'
  | 'ignored'

export interface Case {
  readonly name: string
  /** Sent after the preface, or instead of it. */
  readonly send: readonly Buffer[]
  readonly isRaw?: boolean
  readonly expected: Expected
}

export const [POST_HEAD, GET] = [h2.pseudo('POST'), h2.pseudo()]
export const open = (stream = 1): Buffer => h2.headers(stream, POST_HEAD, h2.END_HEADERS)
export const goaway = (...codes: number[]): Expected => ({ goaway: codes })
export const rst = (...codes: number[]): Expected => ({ rst: codes })
export const get = (...more: (readonly [string, string])[]): Buffer => h2.headers(1, [...GET, ...more])
export const without = (name: string): Buffer =>
  h2.headers(
    1,
    GET.filter(([each]) => each !== name),
  )
export const padded = (payload: Buffer, pad: number): Buffer =>
  Buffer.concat([Buffer.from([pad]), payload, Buffer.alloc(pad)])
