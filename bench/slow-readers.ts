/**
 * Memory of the service while many clients read a large response slowly, and the latency of a normal caller
 * meanwhile.
 *
 * Each client asks for 10 MB and reads one chunk of at most 64 KB per second, which is faster than the minimum read
 * rate of the gateway. Without back-pressure to the backend the service would hold 10 MB for each of them. Latencies
 * include up to 5 ms from the timer of the probe: compare them with those before.
 *
 *   BENCH_READERS=1000 BENCH_SECONDS=30 node bench/slow-readers.ts
 */

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { filePath, openBodiesWorkbench } from './bodies-workbench.ts'
import { BENCH_PATH } from './contestant.ts'
import { startLatencyProbe, type Latencies } from './latency-probe.ts'
import { describeMachine } from './machine.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { BODIES_API } from './subject/bodies-api.ts'
import { gatewayCpuMs, startSubject } from './subject/tollgate.ts'

interface Readers {
  /** `good` are the begun responses with status 200; `closed` the clients that read to a disconnection. */
  readonly counts: { open: number; begun: number; good: number; closed: number; bytes: number }
  stop(): void
}

const READERS = Number(process.env['BENCH_READERS'] ?? 1_000)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 30)
const BODY_BYTES = 10_485_760
const CHUNK_BYTES = 65_536
const READ_EVERY_MS = 1_000
const TICK_MS = 10
const LOOK_EVERY_MS = 5_000
/** One subscription gets half of the connections to a backend. */
const BACKEND_CONNECTIONS = READERS * 2 + 200
/** Growth after the first look that still counts as flat. */
const GROWTH_MAX = 1.15

console.log(`machine: ${describeMachine()}`)
console.log(
  `load:    ${READERS} clients read ${CHUNK_BYTES / 1_024} KB per second of 10 MB; a normal caller sends 100 calls/s\n`,
)

const workbench = await openBodiesWorkbench()
const api = { ...BODIES_API, connections: BACKEND_CONNECTIONS }
const options = { args: ['--empty'], env: { GATEWAY_THREADS: '1' } }
const { service, platform, enrolment } = await startSubject(workbench.backendPort, options, api)
const { gatewayUrl, pid } = service
const normal = await enrol({ platform, gatewayUrl, api: BENCH_API, name: 'normal', kind: 'application' })
const probe = startLatencyProbe([{ name: 'normal', url: gatewayUrl + BENCH_PATH, token: normal.token }])
try {
  console.log(
    '| | RSS, MiB | kernel buffers, MiB | gateway thread, % | open clients | read, MB | p50, ms | p99, ms | max, ms | failed |',
  )
  console.log(`|${' --- |'.repeat(10)}`)
  await look('before', null)
  await look('before', null)
  const readers = startReaders(enrolment.token)
  const residentMb: number[] = []
  for (let seconds = LOOK_EVERY_MS / 1_000; seconds <= SECONDS; seconds += LOOK_EVERY_MS / 1_000) {
    residentMb.push(await look(`${seconds} s`, readers))
  }
  readers.stop()
  await look(`${LOOK_EVERY_MS / 1_000} s after the end`, readers)
  await look(`${(2 * LOOK_EVERY_MS) / 1_000} s after the end`, readers)

  const { begun, good, closed } = readers.counts
  const growth = (residentMb.at(-1) ?? NaN) / (residentMb[0] ?? NaN)
  console.log(
    `\nclients: ${begun} of ${READERS} got a response, ${good} of them 200; the gateway disconnected ${await tooSlow()} as too slow, which ${closed} of them noticed`,
  )
  console.log(
    `memory is ${growth <= GROWTH_MAX ? 'flat' : 'not flat'}: last ÷ first look ${growth.toFixed(3)}, at most ${GROWTH_MAX}`,
  )
} finally {
  await probe.stop()
  await service.stop()
  await workbench.close()
}

/** Measures for one interval, prints the line, and returns the resident memory at its end. */
async function look(label: string, readers: Readers | null): Promise<number> {
  const startMs = gatewayCpuMs(pid)
  const { latencies } = await probe.during(() => wait(LOOK_EVERY_MS))
  const busy = ((gatewayCpuMs(pid) - startMs) / LOOK_EVERY_MS) * 100
  const { p50Ms, p99Ms, maxMs, failed, calls } = latencies.get('normal') as Latencies
  const { open, bytes } = readers?.counts ?? { open: 0, bytes: 0 }
  const residentMb = readKilobytes(`/proc/${pid}/status`, /VmRSS:\s+(\d+)/) / 1_024
  // In pages of 4 KiB.
  const kernelMb = readKilobytes('/proc/net/sockstat', /^TCP:.* mem (\d+)/m) / 256
  const cells = [
    label,
    ...[residentMb, kernelMb, busy, open, bytes / 1e6].map((value) => value.toFixed(0)),
    ...[p50Ms, p99Ms, maxMs].map((value) => value.toFixed(1)),
    `${failed} of ${calls}`,
  ]
  console.log(`| ${cells.join(' | ')} |`)
  return residentMb
}

function startReaders(token: string): Readers {
  const counts = { open: 0, begun: 0, good: 0, closed: 0, bytes: 0 }
  const { port, host } = new URL(gatewayUrl)
  const head = `GET ${filePath(BODY_BYTES)} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const sockets: Socket[] = []
  let stopped = false
  const open = (): void => {
    let isFirst = true
    const callback = (length: number): boolean => {
      if (isFirst) {
        counts.begun++
        if (buffer.toString('latin1', 0, 12) === 'HTTP/1.1 200') counts.good++
        isFirst = false
      }
      counts.bytes += length
      return false
    }
    const socket = connect({ port: Number(port), host: '127.0.0.1', onread: { buffer, callback } })
    counts.open++
    socket.once('close', () => {
      counts.open--
      if (!stopped) counts.closed++
    })
    // `close` follows.
    socket.once('error', () => {})
    socket.write(head)
    sockets.push(socket)
  }
  // Opens all clients within the first second, then lets each read once per second.
  const perTick = Math.ceil(READERS / (READ_EVERY_MS / TICK_MS))
  let next = 0
  const timer = setInterval(() => {
    for (let count = 0; count < perTick; count++, next = (next + 1) % READERS) {
      if (sockets.length < READERS) open()
      else sockets[next]?.resume()
    }
  }, TICK_MS)
  return {
    counts,
    stop() {
      stopped = true
      clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Returns how many calls the gateway has ended because their client read too slowly. */
async function tooSlow(): Promise<number> {
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  return Number(/^tollgate_calls_total\{.*outcome="client_too_slow".*\} (\d+)/m.exec(metrics)?.[1] ?? 0)
}

function readKilobytes(path: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? NaN)
}
