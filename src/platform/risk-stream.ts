/**
 * `GET /v1/events/subscribe`: risks as they happen, as Server-Sent Events.
 *
 * A reader gets its own tenant's events alone, the tenant being that of its token. It resumes with
 * `Last-Event-ID`, from where its filters would have let it read on. The stream ends when the token
 * does, or within a heartbeat of its credential being revoked. An event is made into text once,
 * however many read it, on whatever port. Readers are bounded, in all and for each tenant: one tenant
 * cannot take the places of the others.
 */

import { SEVERITIES, type RiskEvent } from '../domain/risk.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { RiskFeed } from '../store/risk-store.ts'
import { createEventReaders } from './event-readers.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { riskProperties, showRisk } from './risk-shape.ts'
import { named, object, reference } from './schemas.ts'

export interface RiskStreamOptions {
  readonly risks: RiskFeed
  readonly clock: Clock
  readonly log: Log
  /** Counts a stream that ended, by reason. */
  readonly onEnd: (reason: string) => void
  readonly readersMax?: number
  readonly readersOfTenantMax?: number
}

export interface RiskStream {
  readonly readers: number
  readonly handlers: Handlers<typeof RISK_STREAM_OPERATIONS>
  /** Ends every stream; readers come back elsewhere or later. */
  close(): void
}

const READERS_MAX = 10_000
const READERS_OF_TENANT_MAX = 1_000
const { category, severity } = riskProperties

export const RISK_STREAM_OPERATIONS = {
  subscribeToRisks: {
    method: 'GET',
    path: '/v1/events/subscribe',
    summary: 'Streams risks as Server-Sent Events',
    description:
      'Events are named `risk`; `id` sorts by time, `data` is a RiskEvent. A comment every 15 s keeps the connection alive. ' +
      'The stream ends when the token expires. A slow client is disconnected and can resume with `Last-Event-ID`.',
    tag: 'Risks',
    scope: 'risks:read',
    query: object({ category, severity: { ...severity, description: 'Minimum severity.' }, api: reference }, []),
    headers: {
      'Last-Event-ID': {
        type: 'string',
        pattern: '^(evt_[0-7][0-9a-hjkmnp-tv-z]{25})?$',
        description: 'Resumes after this event of the last 24 hours. Without it, the stream starts with new events.',
      },
    },
    status: 200,
    mediaTypes: ['text/event-stream'],
    eventData: named('RiskEvent', object(riskProperties)),
    endless: true,
  },
} as const satisfies Operations

export function createRiskStream(options: RiskStreamOptions): RiskStream {
  const { risks, clock, log, onEnd, readersMax = READERS_MAX, readersOfTenantMax = READERS_OF_TENANT_MAX } = options
  const textOf = createTexts()
  const readers = createEventReaders({
    clock,
    max: readersMax,
    ofTenantMax: readersOfTenantMax,
    refusal: 'Too many risk streams are open. Retry later.',
    onEnd,
    onUnknown: (cause, requestId) =>
      log.error({ err: cause, requestId }, 'the credential of a risk stream could not be looked up'),
  })

  return {
    get readers() {
      return readers.size
    },
    handlers: {
      async subscribeToRisks(call, reply) {
        const { author, request } = call
        const reader = await readers.open(call, reply)
        const passes = createFilter(call.query)
        const tell = (event: RiskEvent): void => {
          if (passes(event)) reader.send(textOf(event))
        }
        try {
          reader.onStop(await risks.subscribe(author.tenant, lastEventIdOf(call), tell, reader.drained))
        } catch (cause) {
          const failed = reader.end('resume_failed')
          if (failed) log.warn({ err: cause, requestId: request.id }, 'a risk stream could not resume')
        }
        return reply
      },
    },
    close: readers.close,
  }
}

type RiskQuery = Call<typeof RISK_STREAM_OPERATIONS.subscribeToRisks>['query']

function lastEventIdOf({ request }: Pick<Call, 'request'>): string | null {
  const id = request.headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : null
}

function createFilter({ category: wanted, severity: least, api }: RiskQuery): (event: RiskEvent) => boolean {
  const rank = least === undefined ? 0 : SEVERITIES.indexOf(least)
  return (event) =>
    (wanted === undefined || event.category === wanted) &&
    (api === undefined || event.api === api) &&
    SEVERITIES.indexOf(event.severity) >= rank
}

/** The text of an event, kept as long as the event itself is, for all who read it. */
function createTexts(): (event: RiskEvent) => string {
  const known = new WeakMap<RiskEvent, string>()
  return (event) => {
    let text = known.get(event)
    if (text === undefined) {
      text = `event: risk\nid: ${event.id}\ndata: ${JSON.stringify(showRisk(event))}\n\n`
      known.set(event, text)
    }
    return text
  }
}
