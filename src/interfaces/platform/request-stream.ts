/** Streams calls as Server-Sent Events while they are recorded: at most 100 per second, the others as a number. */

import type { FastifyReply } from 'fastify'
import { readExplanation } from '../../foundation/domain/explanation.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { LoggedRequest, RequestFeed, RequestFilter } from '../../storage/store/request-store.ts'
import { createEventReaders, type EventReaders } from './event-readers.ts'
import type { Call } from './operation.ts'
import { showRequest } from './request-shape.ts'

export interface RequestStream extends Pick<EventReaders, 'close' | 'endOf'> {
  /**
   * Takes the reply over; throws `Problem('unavailable')` if too many streams are open. Without a filter the stream stays open and
   * receives nothing.
   */
  open(call: Call, reply: FastifyReply, filter: Omit<RequestFilter, 'tenant'> | null): Promise<void>
}

export interface RequestStreamOptions {
  readonly liveRequests: RequestFeed
  readonly clock: Clock
  readonly log: Log
}

const READERS_MAX = 200
const READERS_OF_TENANT_MAX = 20
const READERS_OF_CALLER_MAX = 5

export function createRequestStream({ liveRequests, clock, log }: RequestStreamOptions): RequestStream {
  const textOf = createTextCache(liveRequests.isResumable)
  const readers = createEventReaders({
    name: 'request',
    clock,
    log,
    max: READERS_MAX,
    ofTenantMax: READERS_OF_TENANT_MAX,
    ofCallerMax: READERS_OF_CALLER_MAX,
    instead: 'Request the list as JSON instead.',
  })

  return {
    open: (call, reply, filter) =>
      readers.open(call, reply, (reader) => {
        if (filter === null) return null
        return liveRequests.subscribe(
          { ...filter, tenant: call.author.tenant },
          {
            onRequest: (request) => reader.send(textOf(request)),
            onSkipped: (count) => reader.send(`event: skipped\ndata: ${JSON.stringify({ count })}\n\n`),
          },
          resumedAt(call),
        )
      }),
    endOf: readers.endOf,
    close: readers.close,
  }
}

/** The id of an event is the time of its call. */
function resumedAt({ request }: Pick<Call, 'request'>): number | undefined {
  const id = request.headers['last-event-id']
  return typeof id === 'string' && /^\d{1,13}$/.test(id) ? Number(id) : undefined
}

/** Returns the reason of a refusal with the first error; undefined if there is none. */
function detailOf({ explanation }: LoggedRequest): string | undefined {
  const { detail, errors: [first] = [] } = readExplanation(explanation) ?? {}
  if (first === undefined) return detail
  // The pointer of the whole body is empty.
  return `${detail} ${first.pointer === '' ? '' : `${first.pointer}: `}${first.detail}`
}

/** Serialises each call once for all readers. */
function createTextCache(hasIds: boolean): (request: LoggedRequest) => string {
  const known = new WeakMap<LoggedRequest, string>()
  return (request) => {
    let text = known.get(request)
    if (text === undefined) {
      const { tenant: _, ...shown } = request
      const detail = detailOf(request)
      const id = hasIds ? `id: ${request.timeMs}\n` : ''
      text = `event: request\n${id}data: ${JSON.stringify({ ...showRequest(shown), ...(detail !== undefined && { detail }) })}\n\n`
      known.set(request, text)
    }
    return text
  }
}
