/** Streams calls as Server-Sent Events while they are recorded: at most 100 per second, the others as a number. */

import type { FastifyReply } from 'fastify'
import type { Caller } from '../plan/caller.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { RequestFeed, RequestFilter } from '../store/request-store.ts'
import { createEventReaders } from './event-readers.ts'
import type { Call } from './operation.ts'
import { showRequest } from './request-shape.ts'

export interface RequestStream {
  /**
   * Takes the reply over; throws `Problem('unavailable')` if too many streams are open. Without a filter the stream stays open and
   * receives nothing.
   */
  open(call: Call, reply: FastifyReply, filter: Omit<RequestFilter, 'tenant'> | null): Promise<void>
  close(): void
  /** Ends the streams of the callers that `isOver` selects. */
  endOf(isOver: (caller: Caller) => boolean): void
}

export interface RequestStreamOptions {
  readonly liveRequests: RequestFeed
  readonly clock: Clock
  readonly log: Log
}

const READERS_MAX = 200
const READERS_OF_TENANT_MAX = 20

export function createRequestStream({ liveRequests, clock, log }: RequestStreamOptions): RequestStream {
  const readers = createEventReaders({
    clock,
    max: READERS_MAX,
    ofTenantMax: READERS_OF_TENANT_MAX,
    refusal: 'Too many request streams are open. Request the list as JSON instead.',
    onUnknown: (cause, requestId) =>
      log.error(
        { err: cause, requestId },
        'credential of a request stream could not be checked; the stream stays open, retrying at the next heartbeat',
      ),
  })

  return {
    async open(call, reply, filter) {
      const reader = await readers.open(call, reply)
      if (filter === null) return
      const stop = liveRequests.subscribe(
        { ...filter, tenant: call.author.tenant },
        {
          onRequest: ({ tenant: _, ...request }) =>
            reader.send(`event: request\ndata: ${JSON.stringify(showRequest(request))}\n\n`),
          onSkipped: (count) => reader.send(`event: skipped\ndata: ${JSON.stringify({ count })}\n\n`),
        },
      )
      reader.onStop(stop)
    },
    endOf: readers.endOf,
    close: readers.close,
  }
}
