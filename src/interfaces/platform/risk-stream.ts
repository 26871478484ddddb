/**
 * `GET /v1/events/subscribe`: risks as Server-Sent Events.
 *
 * A reader receives the events of the tenant of its token, and resumes with `Last-Event-ID`. The stream ends when the token
 * expires or its credential loses access, and within one heartbeat if it only loses the scope. Each event is serialised once for all readers. The number
 * of readers is limited in total and per tenant, so that one tenant cannot exclude the others.
 */

import { consumerOf, SEVERITIES, type RiskEvent } from '../../foundation/domain/risk.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { RiskFeed } from '../../storage/store/risk-store.ts'
import { createEventReaders } from './event-readers.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { riskProperties, showRisk } from './risk-shape.ts'
import { named, object, reference } from './schemas.ts'

export interface RiskStreamOptions {
  readonly risks: RiskFeed
  readonly clock: Clock
  readonly log: Log
  /** Called with the reason when a stream ends. */
  readonly onEnd: (reason: string) => void
  readonly readersMax?: number
  readonly readersOfTenantMax?: number
}

export interface RiskStream {
  readonly readers: number
  readonly handlers: Handlers<typeof RISK_STREAM_OPERATIONS>
  /** Ends the streams of the callers that `isOver` selects. */
  endOf(isOver: (caller: Caller) => boolean): void
  /** Ends all streams; clients reconnect. */
  close(): void
}

const READERS_MAX = 10_000
const READERS_OF_TENANT_MAX = 1_000
/** Windows of a person. Without it, a person of one consumer could keep the tenant's own people from the stream. */
const READERS_OF_PERSON_MAX = 50
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
    own: 'filtered',
    query: object({ category, severity: { ...severity, description: 'Minimum severity.' }, api: reference }, []),
    headers: {
      'Last-Event-ID': {
        type: 'string',
        maxLength: 30,
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
  const textOf = createTextCache()
  const readers = createEventReaders({
    name: 'risk',
    clock,
    log,
    max: readersMax,
    ofTenantMax: readersOfTenantMax,
    ofPersonMax: READERS_OF_PERSON_MAX,
    instead: 'Retry later.',
    onEnd,
  })

  return {
    get readers() {
      return readers.size
    },
    handlers: {
      async subscribeToRisks(call, reply) {
        const passes = createFilter(call.query, call.owner)
        await readers.open(call, reply, (reader) => {
          const send = (event: RiskEvent): void => {
            if (passes(event)) reader.send(textOf(event))
          }
          return risks.subscribe(call.author.tenant, lastEventIdOf(call), send, () => reader.drained())
        })
        return reply
      },
    },
    endOf: readers.endOf,
    close: readers.close,
  }
}

type RiskQuery = Call<typeof RISK_STREAM_OPERATIONS.subscribeToRisks>['query']

function lastEventIdOf({ request }: Pick<Call, 'request'>): string | null {
  const id = request.headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : null
}

function createFilter(
  { category: wanted, severity: least, api }: RiskQuery,
  owner: string | null,
): (event: RiskEvent) => boolean {
  const rank = least === undefined ? 0 : SEVERITIES.indexOf(least)
  return (event) =>
    (owner === null || consumerOf(event.attributedTo) === owner) &&
    (wanted === undefined || event.category === wanted) &&
    (api === undefined || event.api === api) &&
    SEVERITIES.indexOf(event.severity) >= rank
}

/** Caches the text of each event for as long as the event is in memory. */
function createTextCache(): (event: RiskEvent) => string {
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
