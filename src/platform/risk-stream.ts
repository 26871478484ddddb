/**
 * `GET /v1/events/subscribe`: risks as they happen, as Server-Sent Events.
 *
 * A reader gets its own tenant's events alone, the tenant being that of its token. It resumes with
 * `Last-Event-ID`; a comment every 15 s keeps the connection; the stream ends when the token does. A
 * reader that does not take what it is sent is disconnected before it can fill memory, and resumes. An
 * event is made into text once, however many read it.
 */

import type { ServerResponse } from 'node:http'
import { SEVERITIES, type RiskEvent, type Severity } from '../domain/risk.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { isId } from '../runtime/ids.ts'
import type { RiskFeed } from '../store/risk-store.ts'
import { texts } from './replies.ts'
import { showRisk } from './risk-shape.ts'
import { riskFilters } from './risks.ts'
import type { DeclareRoute } from './routes.ts'
import { object } from './schemas.ts'

export interface RiskStreamOptions {
  readonly risks: RiskFeed
  readonly clock: Clock
  readonly count: (reason: string) => void
  readonly readersMax?: number
}

export interface RiskStream {
  readonly readers: number
  /** Ends every stream; readers come back elsewhere or later. */
  close(): void
}

const HEARTBEAT_MS = 15_000
const UNSENT_BYTES_MAX = 1024 * 1024
const READERS_MAX = 10_000
const RETRY_MS = 1_000

export function riskStreamRoutes(declare: DeclareRoute, options: RiskStreamOptions): RiskStream {
  const { risks, clock, count, readersMax = READERS_MAX } = options
  const readers = new Set<Reader>()
  const textOf = createTexts()

  declare(
    {
      operationId: 'subscribeToRisks',
      method: 'GET',
      path: '/v1/events/subscribe',
      summary: 'Risks as they happen, as Server-Sent Events',
      tag: 'Risks',
      scope: 'risks:read',
      query: object(riskFilters, []),
      status: 200,
      mediaTypes: ['text/event-stream'],
    },
    async ({ author, caller, query, raw }, reply) => {
      const lastEventId = raw.headers['last-event-id']
      const after = lastEventId === undefined || lastEventId === '' ? null : String(lastEventId)
      if (after !== null && !isId('evt', after)) {
        const errors = [{ pointer: '/header/Last-Event-ID', detail: 'Give the id of an event, or leave it out.' }]
        throw new Problem('payload_invalid', 'Last-Event-ID is not the id of an event.', { errors })
      }
      if (readers.size >= readersMax) {
        void reply.header('Retry-After', '10')
        throw new Problem('unavailable', 'Too many readers are connected; come back shortly.')
      }
      await raw.recordNow()
      reply.hijack()
      const passes = createFilter(query)
      const reader = createReader({
        response: reply.raw,
        requestId: raw.id,
        clock,
        count,
        endsAtMs: caller.expiresAtMs,
        onEnd: () => readers.delete(reader),
      })
      readers.add(reader)
      const stop = await risks.subscribe(author.tenant, after, (event) => {
        if (passes(event)) reader.send(textOf(event))
      })
      reader.onStop(stop)
      return reply
    },
  )

  return {
    get readers() {
      return readers.size
    },
    close() {
      for (const reader of readers) reader.end('service_stopping')
    },
  }
}

interface Reader {
  send(text: string): void
  onStop(stop: () => void): void
  end(reason: string): void
}

interface ReaderOptions {
  readonly response: ServerResponse
  readonly requestId: string
  readonly clock: Clock
  readonly count: (reason: string) => void
  readonly endsAtMs: number
  readonly onEnd: () => void
}

/** `setTimeout` cannot wait longer. */
const TIMER_MS_MAX = 2_147_483_647

function createReader({ response, requestId, clock, count, endsAtMs, onEnd }: ReaderOptions): Reader {
  let isOver = false
  let stop: (() => void) | null = null
  const stopHeartbeat = clock.every(HEARTBEAT_MS, () => send(': alive\n\n'))
  const cancelEnd = clock.after(Math.min(TIMER_MS_MAX, Math.max(0, endsAtMs - clock.nowMs())), () =>
    end('token_expired'),
  )
  response.on('close', () => end('reader_gone'))
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
    'X-Request-Id': requestId,
  })
  response.write(`retry: ${RETRY_MS}\n\n`)

  function send(text: string): void {
    if (isOver) return
    response.write(text)
    if (response.writableLength <= UNSENT_BYTES_MAX) return
    end('reader_slow')
    response.destroy()
  }

  function end(reason: string): void {
    if (isOver) return
    isOver = true
    count(reason)
    stopHeartbeat()
    cancelEnd()
    stop?.()
    response.end()
    onEnd()
  }

  return {
    send,
    end,
    onStop(how) {
      stop = how
      if (isOver) how()
    },
  }
}

function createFilter(query: Readonly<Record<string, unknown>>): (event: RiskEvent) => boolean {
  const { category, severity, api } = texts(query, 'category', 'severity', 'api')
  const least = severity === undefined ? 0 : SEVERITIES.indexOf(severity as Severity)
  return (event) =>
    (category === undefined || event.category === category) &&
    (api === undefined || event.api === api) &&
    SEVERITIES.indexOf(event.severity) >= least
}

/** The text of an event; the last ones are kept, for all who read them. */
function createTexts(): (event: RiskEvent) => string {
  const texts = new WeakMap<RiskEvent, string>()
  return (event) => {
    let text = texts.get(event)
    if (text === undefined)
      texts.set(event, (text = `event: risk\nid: ${event.id}\ndata: ${JSON.stringify(showRisk(event))}\n\n`))
    return text
  }
}
