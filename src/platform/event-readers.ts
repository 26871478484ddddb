/** Readers of one kind of event stream: bounded, in all and of one tenant, and sent home at the end. */

import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { createEventReader, type EndReason, type EventReader } from './event-reader.ts'
import type { Call } from './operation.ts'

export interface EventReaders {
  readonly size: number
  /**
   * Records the call, and takes the reply over. Throws `Problem('unavailable')` where too many read, and what keeps
   * the call from being recorded.
   */
  open(call: Call, reply: FastifyReply): Promise<EventReader>
  close(): void
}

export interface EventReadersOptions {
  readonly clock: Clock
  readonly max: number
  readonly ofTenantMax: number
  /** What one too many is told. */
  readonly refusal: string
  readonly onEnd?: (reason: EndReason) => void
  /** A credential could not be looked up; it is asked again at the next beat. */
  readonly onUnknown?: (cause: unknown, requestId: string) => void
}

export function createEventReaders(options: EventReadersOptions): EventReaders {
  const { clock, max, ofTenantMax, refusal, onEnd, onUnknown } = options
  const readers = new Set<EventReader>()
  /** Places that are taken, also by those whose call is still being recorded. */
  let taken = 0
  const ofTenant = new Map<string, number>()

  function admit(tenant: string): void {
    const count = ofTenant.get(tenant) ?? 0
    if (taken >= max || count >= ofTenantMax) throw new Problem('unavailable', refusal)
    taken++
    ofTenant.set(tenant, count + 1)
  }

  function leave(tenant: string): void {
    taken--
    const count = (ofTenant.get(tenant) ?? 1) - 1
    if (count === 0) ofTenant.delete(tenant)
    else ofTenant.set(tenant, count)
  }

  return {
    get size() {
      return readers.size
    },
    async open({ author: { tenant }, caller, request }, reply) {
      admit(tenant)
      try {
        await request.recordNow()
      } catch (cause) {
        leave(tenant)
        throw cause
      }
      reply.hijack()
      // One that has gone meanwhile ends before it is here.
      let reader: EventReader | null = null
      let isOver = false
      reader = createEventReader({
        response: reply.raw,
        requestId: request.id,
        headers: limitHeadersOf(reply),
        clock,
        endsAtMs: caller.expiresAtMs,
        isStillOpen: () =>
          request.isStillOpen().catch((cause: unknown) => {
            onUnknown?.(cause, request.id)
            return true
          }),
        onEnd(reason) {
          isOver = true
          if (reader !== null) readers.delete(reader)
          leave(tenant)
          onEnd?.(reason)
        },
      })
      if (!isOver) readers.add(reader)
      return reader
    },
    close() {
      for (const reader of readers) reader.end('service_stopping')
    },
  }
}

function limitHeadersOf(reply: FastifyReply): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(reply.getHeaders()).filter(([name]) => /^(ratelimit|x-ru-)/.test(name)))
}
