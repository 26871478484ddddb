/**
 * The readers of one event stream: limited in total, per tenant and per caller, and ended when the service stops.
 *
 * A caller is a person, or a consumer with all its credentials: it cannot take the places of the others of its tenant. People, and
 * consumers that see their own only, may have a limit below that of the tenant's machines.
 */

import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { createEventReader, MEDIA_TYPE, type EndReason, type EventReader } from './event-reader.ts'
import type { Call } from './operation.ts'

export interface EventReaders {
  readonly size: number
  /**
   * Records the call, takes the reply over (a HEAD request is answered without a stream) and connects the reader to its source of events, which returns how to stop it. Throws
   * `Problem('unavailable')` if too many readers are connected or the service stops, and rejects if the call cannot be recorded.
   * A source that fails ends the stream.
   */
  open(call: Call, reply: FastifyReply, connect: Connect): Promise<void>
  /** Ends the streams of the callers that `isOver` selects. */
  endOf(isOver: (caller: Caller) => boolean): void
  close(): void
}

/** Returns null for a reader that receives nothing. */
export type Connect = (reader: EventReader) => StopSource | null | Promise<StopSource | null>
type StopSource = () => void

export interface EventReadersOptions {
  /** Names the stream in logs and errors, such as `risk`. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly max: number
  readonly ofTenantMax: number
  /** Default: as many as of a tenant. */
  readonly ofCallerMax?: number
  /** For a person, and for a consumer that sees its own only. Default: as many as for a caller. */
  readonly ofPersonMax?: number
  /** Names the alternative for a caller above a limit, as a sentence. */
  readonly instead: string
  readonly onEnd?: (reason: EndReason) => void
}

export function createEventReaders(options: EventReadersOptions): EventReaders {
  const { onEnd } = options
  const readers = new Map<EventReader, Caller>()
  const places = createPlaces(options)
  let isClosed = false

  function refuseClosed(): void {
    if (isClosed) throw new Problem('unavailable', 'The service is stopping.')
  }

  async function record({ request }: Call): Promise<void> {
    await request.recordNow()
    // The credential may have been revoked while the call was recorded.
    if (!(await isStillOpen(options, request))) {
      throw new Problem('credential_invalid', 'The credential has been revoked.')
    }
    refuseClosed()
  }

  return {
    get size() {
      return readers.size
    },
    async open(call, reply, connect) {
      refuseClosed()
      if (call.request.method === 'HEAD') {
        void reply.type(MEDIA_TYPE).header('Cache-Control', 'no-store').send('')
        return
      }
      const release = places.take(call)
      try {
        await record(call)
      } catch (cause) {
        release()
        throw cause
      }
      // A reader whose client has disconnected ends before `takeOver` returns.
      let isOver = false
      const reader = takeOver(options, call, reply, (reason, ended) => {
        isOver = true
        if (ended !== null) readers.delete(ended)
        release()
        onEnd?.(reason)
      })
      if (!isOver) readers.set(reader, call.caller)
      await connectTo(options, reader, connect, call.request.id)
    },
    endOf(isOver) {
      for (const [reader, caller] of readers) if (isOver(caller)) reader.end('credential_closed')
    },
    close() {
      isClosed = true
      for (const reader of readers.keys()) reader.end('service_stopping')
    },
  }
}

/** Resolves with true if the credential cannot be checked; the next heartbeat checks it again. */
async function isStillOpen(
  { name, log }: Pick<EventReadersOptions, 'name' | 'log'>,
  request: Call['request'],
): Promise<boolean> {
  try {
    return await request.isStillOpen()
  } catch (cause) {
    log.error(
      { err: cause, requestId: request.id },
      `credential of a ${name} stream could not be checked; the stream stays open, retrying at the next heartbeat`,
    )
    return true
  }
}

/** Begins the stream in place of the reply. `onEnd` receives null if it ends before this returns. */
function takeOver(
  options: EventReadersOptions,
  { caller, request }: Call,
  reply: FastifyReply,
  onEnd: (reason: EndReason, reader: EventReader | null) => void,
): EventReader {
  reply.hijack()
  let reader: EventReader | null = null
  reader = createEventReader({
    response: reply.raw,
    requestId: request.id,
    headers: streamHeadersOf(reply),
    clock: options.clock,
    endsAtMs: caller.expiresAtMs,
    isStillOpen: () => isStillOpen(options, request),
    onEnd: (reason) => onEnd(reason, reader),
  })
  return reader
}

/** Connects a reader to its source of events; ends it if the source fails. */
async function connectTo(
  { name, log }: Pick<EventReadersOptions, 'name' | 'log'>,
  reader: EventReader,
  connect: Connect,
  requestId: string,
): Promise<void> {
  try {
    const stop = await connect(reader)
    if (stop !== null) reader.onStop(stop)
  } catch (cause) {
    const failed = reader.end('resume_failed')
    if (failed) log.warn({ err: cause, requestId }, `${name} stream could not be read; it is closed`)
  }
}

/** Counts the readers, including those whose call is still being recorded. */
function createPlaces(options: EventReadersOptions) {
  const { name, max, ofTenantMax, ofCallerMax = ofTenantMax, ofPersonMax = ofCallerMax, instead } = options
  const counts = new Map<string, number>()
  return {
    /** Returns the function that releases the place. */
    take({ author: { tenant, consumer, person = '' }, owner }: Pick<Call, 'author' | 'owner'>): () => void {
      const most = person === '' && owner === null ? ofCallerMax : ofPersonMax
      const limits = [
        ['', max],
        [JSON.stringify([tenant]), ofTenantMax],
        [JSON.stringify(person === '' ? [tenant, 'consumer', consumer] : [tenant, 'person', person]), most],
      ] as const
      if (limits.some(([key, limit]) => (counts.get(key) ?? 0) >= limit)) {
        throw new Problem('unavailable', `Too many ${name} streams are open. ${instead}`)
      }
      for (const [key] of limits) counts.set(key, (counts.get(key) ?? 0) + 1)
      return () => {
        for (const [key] of limits) {
          const count = (counts.get(key) ?? 1) - 1
          if (count === 0) counts.delete(key)
          else counts.set(key, count)
        }
      }
    },
  }
}

/** Returns the headers of a reply that its stream keeps: those of limits and of CORS. */
function streamHeadersOf(reply: FastifyReply): OutgoingHttpHeaders {
  const entries = Object.entries(reply.getHeaders())
  return Object.fromEntries(entries.filter(([name]) => /^(ratelimit|x-ru-|access-control-)/.test(name)))
}
