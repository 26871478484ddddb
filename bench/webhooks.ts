/**
 * What a burst of events costs those who do not wait for any: writes and reads of the platform API, one
 * after the other, alone and while thousands of deliveries go out; and how fast they go.
 *
 * One receiver stands for all, in a process of this bench, and answers 204 at once: the worst case for the
 * service, which then has the next delivery to send.
 *
 *   BENCH_RECEIVERS=100 BENCH_EVENTS=100 node bench/webhooks.ts
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { describeMachine } from './machine.ts'
import { percentile } from './spread.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const RECEIVERS = Number(process.env['BENCH_RECEIVERS'] ?? 100)
const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 100)
const QUIET_CALLS = 500
const TOTAL = RECEIVERS * EVENTS

interface Latencies {
  readonly writesMs: number[]
  readonly readsMs: number[]
}

console.log(`machine: ${describeMachine()}`)
console.log(`${TOTAL} deliveries: ${EVENTS} events to ${RECEIVERS} registrations`)
let arrived = 0
const done = Promise.withResolvers<void>()
const receiver = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(204).end()
    if (++arrived === TOTAL) done.resolve()
  })
})
await once(receiver.listen(0, '127.0.0.1'), 'listening')
const workbench = await openWorkbench()
const env = { GATEWAY_THREADS: '1', ALLOW_PRIVATE_ADDRESSES: 'webhooks' }
const { service, platform } = await startSubject(workbench.backendPort, { args: ['--empty'], env })
try {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  await measure(platform, QUIET_CALLS, () => false)
  const quiet = await measure(platform, QUIET_CALLS, () => false)
  for (let number = 0; number < RECEIVERS; number++) {
    await platform.post('/v1/eventsubscriptions', { url: `${url}/${number}`, events: ['SlaChanged'] })
  }
  const startMs = performance.now()
  let isDone = false
  void done.promise.then(() => (isDone = true))
  const [burst] = await Promise.all([measure(platform, Infinity, () => isDone), raise(platform)])
  const seconds = (performance.now() - startMs) / 1_000
  console.log(`all delivered after ${seconds.toFixed(1)} s: ${Math.round(TOTAL / seconds)} a second\n`)
  report('write', quiet.writesMs, burst.writesMs)
  report('read', quiet.readsMs, burst.readsMs)
} finally {
  await service.stop()
  await workbench.close()
  receiver.closeAllConnections()
  receiver.close()
}

/** A write and a read in turn, each when the one before is answered. */
async function measure(client: PlatformClient, callsMax: number, isOver: () => boolean): Promise<Latencies> {
  const [writesMs, readsMs]: [number[], number[]] = [[], []]
  const timed = async (into: number[], call: () => Promise<unknown>): Promise<void> => {
    const startMs = performance.now()
    await call()
    into.push(performance.now() - startMs)
  }
  for (let count = 0; count < callsMax && !isOver(); count++) {
    await timed(writesMs, () => client.post('/v1/consumers', { name: `Consumer ${count}`, kind: 'application' }))
    await timed(readsMs, () => client.get('/v1/consumers?limit=10'))
  }
  return { writesMs, readsMs }
}

/** Each new version of a declaration is an event for every registration. */
async function raise(client: PlatformClient): Promise<void> {
  for (let number = 0; number < EVENTS; number++) {
    const declaration = { opensla: '1.0.0', info: { version: `2.0.${number}` } }
    const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
    await client.post('/v1/openslaspecs', { api: BENCH_API, specification })
  }
}

function report(name: string, quietMs: readonly number[], burstMs: readonly number[]): void {
  const [quiet, burst] = [quietMs.toSorted((a, b) => a - b), burstMs.toSorted((a, b) => a - b)]
  for (const percent of [50, 99]) {
    const [before, during] = [percentile(quiet, percent), percentile(burst, percent)]
    const ratio = (during / before).toFixed(1)
    console.log(
      `${name} p${percent}, ms: alone ${before.toFixed(2)}, in the burst ${during.toFixed(2)}, ratio ${ratio} (${burst.length} calls)`,
    )
  }
}
