/**
 * P6: from a refused call to the event on the subscriber's screen, while good calls go on.
 *
 * Each probe is the first refused call of a consumer of its own, so that its episode opens and the event
 * goes out at once; later calls of the same episode would wait by design. The probe is a call beyond
 * the scopes of its token (403). The delay runs from before the call is sent to when its event has
 * been read, on one clock; the probe, the load and the reader share this process, so their own
 * delay is in the number too.
 *
 * Further readers of the same tenant take what they are sent and do not look at it.
 *
 *   BENCH_RATE=5000 BENCH_PROBES=200 BENCH_READERS=990 node bench/sse-delay.ts
 */

import { once } from 'node:events'
import { connect } from 'node:net'
import { request } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { readEventStream } from '../src/interfaces/cli/event-stream.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { percentile } from './spread.ts'
import { startSteadyLoad } from './steady-load.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject, type Subject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

interface Probe {
  readonly consumer: string
  readonly token: string
}

const READERS = Number(process.env['BENCH_READERS'] ?? 0)
const RATE = Number(process.env['BENCH_RATE'] ?? 5_000)
const PROBES = Number(process.env['BENCH_PROBES'] ?? 200)
const WARM_UP_MS = 3_000
const PROBE_EVERY_MS = 50
const LAST_EVENT_MS_MAX = 35_000
const TARGET_MS = 250

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
const subject = await startSubject(workbench.backendPort)
try {
  await measureDelay(subject)
} finally {
  await subject.service.stop()
  await workbench.close()
}

async function measureDelay({ service, platform, enrolment }: Subject): Promise<void> {
  const { gatewayUrl, baseUrl } = service
  const probes: Probe[] = []
  for (let number = 0; number < PROBES; number++) {
    const name = `probe-${number}`
    const { consumer, token } = await enrol({
      platform,
      gatewayUrl,
      api: BENCH_API,
      name,
      kind: 'application',
      scopes: ['items:write'],
    })
    probes.push({ consumer, token })
  }

  const sentMs = new Map<string, number>()
  const delaysMs = new Map<string, number>()
  const end = new AbortController()
  const opened = Promise.withResolvers<void>()
  const reading = readEventStream({
    url: `${baseUrl}/v1/events/subscribe`,
    token: await platform.token(),
    signal: end.signal,
    onOpen: opened.resolve,
    onEvent({ data }) {
      const { phase, attributedTo } = JSON.parse(data) as { phase: string; attributedTo: { id: string } }
      const startMs = sentMs.get(attributedTo.id)
      if (phase === 'opened' && startMs !== undefined) delaysMs.set(attributedTo.id, performance.now() - startMs)
    },
  }).catch((error: unknown) => {
    opened.reject(error)
    if (!end.signal.aborted) throw error
  })
  await opened.promise
  const closeReaders = await openReaders(baseUrl, await platform.token(), READERS)

  const load = startSteadyLoad({ origin: gatewayUrl, path: BENCH_PATH, token: enrolment.token, callsPerSecond: RATE })
  await wait(WARM_UP_MS)
  const [startMs, startGood] = [performance.now(), load.counts.good]
  for (const { consumer, token } of probes) {
    sentMs.set(consumer, performance.now())
    await probe(gatewayUrl + BENCH_PATH, token)
    await wait(PROBE_EVERY_MS)
  }
  const rate = (load.counts.good - startGood) / ((performance.now() - startMs) / 1000)
  for (let waited = 0; delaysMs.size < PROBES && waited < LAST_EVENT_MS_MAX; waited += 100) await wait(100)
  await load.stop()
  closeReaders()
  end.abort()
  await reading

  const sorted = [...delaysMs.values()].sort((a, b) => a - b)
  console.log(
    `load:    ${rate.toFixed(0)} good calls/s answered of ${RATE} asked for, ${load.counts.bad} failed, ${load.counts.leftOut} not sent`,
  )
  console.log(`events:  ${sorted.length} of ${PROBES} probes`)
  console.log(
    `delay:   p50 ${percentile(sorted, 50).toFixed(1)} ms, p99 ${percentile(sorted, 99).toFixed(1)} ms, max ${(sorted.at(-1) ?? NaN).toFixed(1)} ms`,
  )
  console.log(
    `P6  p99 ≤ ${TARGET_MS} ms: ${percentile(sorted, 99).toFixed(1)} ms at ${rate.toFixed(0)} calls/s, ${READERS + 1} readers`,
  )
}

async function probe(url: string, token: string): Promise<void> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } })
  await body.dump()
  if (statusCode !== 403) throw new Error(`a probe was answered ${statusCode}, not 403`)
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}

/** Plain connections; resolves when every one has its head. */
async function openReaders(baseUrl: string, token: string, count: number): Promise<() => void> {
  const { hostname, port } = new URL(baseUrl)
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), hostname)
      socket.write(`GET /v1/events/subscribe HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      await once(socket, 'data')
      return socket.resume()
    }),
  )
  return () => sockets.forEach((socket) => socket.destroy())
}
