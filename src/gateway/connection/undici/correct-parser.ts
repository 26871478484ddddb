/**
 * Two corrections of undici's HTTP/1.1 parser.
 *
 * - An unsolicited `100 Continue` is skipped like any other interim response (RFC 9110, 15.2); undici
 *   destroys the connection.
 * - A `Content-Length` in a trailer is ignored (RFC 9110, 6.5.1); undici takes it for the length of the
 *   body that has just ended, and llhttp rejects it in a chunked message.
 *
 * undici does not export the parser. The first connection gives access to it, and it is corrected once;
 * `test/unit/gateway/connection/correct-parser.test.ts` fails if a release of undici moves it.
 */

import type { Pool } from 'undici'

interface Parser {
  readonly ptr: number
  readonly hasTransferEncoding: boolean
  contentLength: number
  readonly llhttp: { llhttp_set_lenient_chunked_length(parser: number, isLenient: number): void }
  onHeadersComplete(status: number, isUpgrade: boolean, shouldKeepAlive: boolean): number
  onMessageComplete(): number
}

const CONTINUE = 100
const PROCESSING = 102
const corrected = new WeakSet<object>()

/** Corrects the parser of all connections of `pool` before it reads its first byte. */
export function correctParser(pool: Pool): void {
  pool.on('connect', (_origin, targets) => {
    const parser = findParser(targets.at(-1))
    if (parser !== null) correct(Object.getPrototypeOf(parser) as Parser)
  })
}

/** Returns null for a connection of another protocol. */
export function findParser(client: object | undefined): Parser | null {
  const socket = client === undefined ? undefined : readSymbol(client, 'socket')
  const parser = typeof socket === 'object' && socket !== null ? readSymbol(socket, 'parser') : undefined
  return typeof parser === 'object' && parser !== null ? (parser as Parser) : null
}

function readSymbol(target: object, name: string): unknown {
  for (const symbol of Object.getOwnPropertySymbols(target)) {
    if (symbol.description === name) return Reflect.get(target, symbol)
  }
  return undefined
}

function correct(prototype: Parser): void {
  if (corrected.has(prototype)) return
  corrected.add(prototype)
  const { onHeadersComplete, onMessageComplete } = prototype

  // Between the end of the head and the end of the message, a Content-Length can only be in a trailer.
  prototype.onHeadersComplete = function (status, isUpgrade, shouldKeepAlive) {
    if (this.hasTransferEncoding) this.llhttp.llhttp_set_lenient_chunked_length(this.ptr, 1)
    return onHeadersComplete.call(this, status === CONTINUE ? PROCESSING : status, isUpgrade, shouldKeepAlive)
  }
  prototype.onMessageComplete = function () {
    if (this.hasTransferEncoding) {
      this.contentLength = -1
      this.llhttp.llhttp_set_lenient_chunked_length(this.ptr, 0)
    }
    return onMessageComplete.call(this)
  }
}
