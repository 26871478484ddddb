/**
 * Streams and environment of a command: data goes to `out`, messages for people to `err`.
 *
 * Colour is for terminals only, and never with `NO_COLOR` or a dumb terminal.
 */

import type { Readable } from 'node:stream'
import type { WriteStream } from 'node:tty'

export interface Sink {
  write(text: string | Uint8Array): void
  readonly isTerminal: boolean
  /** Infinity if the output is no terminal: nothing is shortened in a pipe. */
  readonly columns: number
  readonly colour: boolean
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly out: Sink
  readonly err: Sink
  /** Aborted by Ctrl-C and SIGTERM once a command has called `interruptible`. A second Ctrl-C ends the process at once. */
  interruptible(): AbortSignal
}

const COLUMNS_UNKNOWN = 100
/** Under npx, or if an old Node starts the command, one Ctrl-C arrives twice: from the terminal, and forwarded by the parent. */
const SAME_SIGNAL_MS = 500
/** As shells report the end by SIGINT. */
const EXIT_INTERRUPTED = 130

export function processIo({ env, stdin, stdout, stderr }: NodeJS.Process): Io {
  const mayColour = (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  let interrupted: AbortController | null = null
  return {
    env,
    stdin,
    out: toSink(stdout, mayColour),
    err: toSink(stderr, mayColour),
    interruptible() {
      if (interrupted !== null) return interrupted.signal
      const controller = (interrupted = new AbortController())
      const abort = createInterrupt(() => controller.abort())
      process.on('SIGINT', abort)
      process.on('SIGTERM', abort)
      return controller.signal
    },
  }
}

/** Returns a handler of signals: the first calls `onFirst`, and a later one ends the process. */
export function createInterrupt(onFirst: () => void): () => void {
  let sinceMs: number | null = null
  return () => {
    if (sinceMs === null) {
      sinceMs = performance.now()
      onFirst()
    } else if (performance.now() - sinceMs > SAME_SIGNAL_MS) process.exit(EXIT_INTERRUPTED)
  }
}

function toSink(stream: WriteStream, mayColour: boolean): Sink {
  // The reader of a pipe has ended, as `head` does: nothing reads the output any more.
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2))
  return {
    write: (text) => void stream.write(text),
    isTerminal: stream.isTTY,
    get columns() {
      return stream.isTTY ? stream.columns || COLUMNS_UNKNOWN : Infinity
    },
    colour: stream.isTTY && mayColour,
  }
}
