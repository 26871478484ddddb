/** The readers of one event stream: limited in total and per tenant, and ended when the service stops. */

import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Caller } from '../plan/caller.ts'
import type { Clock } from '../runtime/clock.ts'
import { createEventReader, type EndReason, type EventReader } from './event-reader.ts'
import type { Call } from './operation.ts'

export interface EventReaders {
  readonly size: number
  /**
   * Records the call and takes the reply over. Throws `Problem('unavailable')` if too many readers are connected, and rejects
   * if the call cannot be recorded.
   */
  open(call: Call, reply: FastifyReply): Promise<EventReader>
  /** Ends the streams of the callers that `isOver` selects. */
  endOf(isOver: (caller: Caller) => boolean): void
  close(): void
}

export interface EventReadersOptions {
  readonly clock: Clock
  readonly max: number
  readonly ofTenantMax: number
  /** The error detail for a reader above the limit. */
  readonly refusal: string
  readonly onEnd?: (reason: EndReason) => void
  /** Called when a credential could not be checked; the next heartbeat checks it again. */
  readonly onUnknown?: (cause: unknown, requestId: string) => void
}

export function createEventReaders(options: EventReadersOptions): EventReaders {
  const { clock, onEnd, onUnknown } = options
  const readers = new Map<EventReader, Caller>()
  const places = createPlaces(options)

  return {
    get size() {
      return readers.size
    },
    async open({ author: { tenant }, caller, request }, reply) {
      const isStillOpen = (): Promise<boolean> =>
        request.isStillOpen().catch((cause: unknown) => {
          onUnknown?.(cause, request.id)
          return true
        })
      places.take(tenant)
      try {
        await request.recordNow()
        // The credential may have been revoked while the call was recorded.
        if (!(await isStillOpen())) throw new Problem('credential_invalid', 'The credential has been revoked.')
      } catch (cause) {
        places.release(tenant)
        throw cause
      }
      reply.hijack()
      // A reader whose client has disconnected ends before `createEventReader` returns.
      let reader: EventReader | null = null
      let isOver = false
      reader = createEventReader({
        response: reply.raw,
        requestId: request.id,
        headers: limitHeadersOf(reply),
        clock,
        endsAtMs: caller.expiresAtMs,
        isStillOpen,
        onEnd(reason) {
          isOver = true
          if (reader !== null) readers.delete(reader)
          places.release(tenant)
          onEnd?.(reason)
        },
      })
      if (!isOver) readers.set(reader, caller)
      return reader
    },
    endOf(isOver) {
      for (const [reader, caller] of readers) if (isOver(caller)) reader.end('credential_closed')
    },
    close() {
      for (const reader of readers.keys()) reader.end('service_stopping')
    },
  }
}

/** Counts the readers, including those whose call is still being recorded. */
function createPlaces({ max, ofTenantMax, refusal }: Pick<EventReadersOptions, 'max' | 'ofTenantMax' | 'refusal'>) {
  let taken = 0
  const ofTenant = new Map<string, number>()
  return {
    take(tenant: string): void {
      const count = ofTenant.get(tenant) ?? 0
      if (taken >= max || count >= ofTenantMax) throw new Problem('unavailable', refusal)
      taken++
      ofTenant.set(tenant, count + 1)
    },
    release(tenant: string): void {
      taken--
      const count = (ofTenant.get(tenant) ?? 1) - 1
      if (count === 0) ofTenant.delete(tenant)
      else ofTenant.set(tenant, count)
    },
  }
}

function limitHeadersOf(reply: FastifyReply): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(reply.getHeaders()).filter(([name]) => /^(ratelimit|x-ru-)/.test(name)))
}
