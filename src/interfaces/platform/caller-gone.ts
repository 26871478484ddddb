/** A signal with which long reads end when their caller has left. */

import type { FastifyReply } from 'fastify'

/** Returns a signal that aborts when the connection of the answer closes. */
export function whenCallerGone({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => gone.abort())
  return gone.signal
}
