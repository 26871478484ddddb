/**
 * CPU per call by the number of connections, by the size of a response and by the size of an upload; without
 * kept connections; and right after the start. tollgate (gateway thread) beside an nginx that merely proxies.
 *
 * Both run at once and are loaded in turn, round by round; ratios are made within a round. Prints tables, and
 * draws `charts/connections.svg` and `charts/bodies.svg`. Failed calls do not end a run: their number stands
 * beside the figures. `node bench/shape.ts connections bodies` runs some parts only.
 *
 *   BENCH_ROUNDS=3 BENCH_SECONDS=2 node bench/shape.ts [connections] [bodies] [close] [cold]
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BODIES, filePath, openBodiesWorkbench, UPLOAD_PATH, uploadScript } from './bodies-workbench.ts'
import { drawChart, type Series } from './chart.ts'
import { BENCH_PATH, type Contestant } from './contestant.ts'
import { load, type LoadOptions } from './load.ts'
import { describeMachine, versionOf } from './machine.ts'
import { startNginx } from './rivals/nginx.ts'
import { spreadOf, toText } from './spread.ts'
import { BODIES_API } from './subject/bodies-api.ts'
import { startTollgate } from './subject/tollgate.ts'

interface Case extends Omit<LoadOptions, 'url' | 'token' | 'seconds'> {
  readonly label: string
  readonly path: string
  /** Bytes of the body, for MB/s. */
  readonly bytes?: number
  readonly seconds?: number
}

interface Sample {
  readonly usPerCall: number
  /** Of the whole process, where that is more than what serves calls. */
  readonly usPerCallWhole: number
  readonly callsPerSecond: number
  readonly p99Ms: number
  readonly failed: number
}

/** Of each round the sample of tollgate and that of nginx. */
interface Measured extends Case {
  readonly rounds: readonly (readonly [Sample, Sample])[]
}

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 2)
const WARM_UP_SECONDS = 4
const CONNECTIONS = [1, 8, 64, 512, 1_000, 10_000]
const CLOSE = [
  { label: 'kept', path: BENCH_PATH, connections: 32 },
  { label: '`Connection: close`', path: BENCH_PATH, connections: 32, headers: ['Connection: close'] },
]
const MANY_CONNECTIONS = 10_000
const LARGE_BYTES_MIN = 131_072
const CHARTS = join(import.meta.dirname, 'charts')
const [TOLLGATE, NGINX] = ['#0b6e4f', '#a4480f']
/** Where a logarithmic axis shows 0 bytes. */
const ZERO_BYTES_AT = 64

const parts = process.argv.slice(2)
const runs = (part: string): boolean => parts.length === 0 || parts.includes(part)

const machine = describeMachine()
console.log(`machine: ${machine}`)
console.log(`nginx:   ${versionOf('nginx', '-v')}`)
console.log(`load:    wrk, ${ROUNDS} rounds of ${SECONDS} s each; median (min – max)`)

const workbench = await openBodiesWorkbench()
const startBoth = async () =>
  [await startTollgate(workbench.backendPort, {}, BODIES_API), await startNginx(workbench)] as const
try {
  if (runs('cold')) await measureCold()
  const both = await startBoth()
  try {
    for (const contestant of both)
      await take(contestant, { label: '', path: BENCH_PATH, connections: 32 }, WARM_UP_SECONDS)
    if (runs('connections')) await measureConnections(both)
    if (runs('bodies')) await measureBodies(both)
    if (runs('close')) printTable('Kept connections or not (32 at once)', await measure(both, CLOSE))
  } finally {
    for (const contestant of both) await contestant.stop()
  }
} finally {
  await workbench.close()
}

async function measureConnections(both: readonly [Contestant, Contestant]): Promise<void> {
  const cases = CONNECTIONS.map((connections) => ({
    label: connections.toLocaleString('en'),
    path: BENCH_PATH,
    connections,
    // Opening many connections takes a while, and should be a small part of the sample.
    seconds: connections < MANY_CONNECTIONS ? SECONDS : 4 * SECONDS,
  }))
  const measured = await measure(both, cases)
  printTable('Connections', measured)
  const line = (index: 0 | 1) =>
    measured.map(({ connections, rounds }) => ({ x: connections, y: medianUs(rounds, index) }))
  draw('connections', {
    title: 'CPU per call by the number of connections',
    subtitle: 'GET with an answer of 100 bytes, kept connections, backend on the same machine',
    xLabel: 'connections that call at once',
    xTicks: cases.map(({ connections, label }) => ({ value: connections, label })),
    yScale: 'linear',
    series: [
      { name: 'tollgate, full call', color: TOLLGATE, points: line(0) },
      { name: 'nginx, proxy only', color: NGINX, points: line(1) },
    ],
  })
}

async function measureBodies(both: readonly [Contestant, Contestant]): Promise<void> {
  const downloads = await measure(
    both,
    BODIES.map((body) => ({ ...body, path: filePath(body.bytes) })),
  )
  printTable('Size of the response', downloads)
  const uploads = await measure(
    both,
    BODIES.map((body) => ({ ...body, path: UPLOAD_PATH, script: uploadScript(workbench.dir, body.bytes) })),
  )
  printTable('Size of an upload', uploads)
  const series: Series[] = [
    { name: 'tollgate, response', color: TOLLGATE, points: bodyLine(downloads, 0) },
    { name: 'nginx, response', color: NGINX, points: bodyLine(downloads, 1) },
    { name: 'tollgate, upload', color: TOLLGATE, dashed: true, points: bodyLine(uploads, 0) },
    { name: 'nginx, upload', color: NGINX, dashed: true, points: bodyLine(uploads, 1) },
  ]
  draw('bodies', {
    title: 'CPU per call by the size of the body',
    subtitle: 'Kept connections, backend on the same machine; both axes are logarithmic',
    xLabel: 'bytes of the response or of the upload',
    xTicks: BODIES.map(({ bytes, label }) => ({ value: bytes || ZERO_BYTES_AT, label })),
    yScale: 'log',
    series,
  })
}

function bodyLine(measured: readonly Measured[], index: 0 | 1): Series['points'] {
  return measured.map(({ bytes, rounds }) => ({ x: bytes || ZERO_BYTES_AT, y: medianUs(rounds, index) }))
}

/** Loads fresh processes: the first seconds after the start, then the same load once they are warm. */
async function measureCold(): Promise<void> {
  const call = { label: '', path: BENCH_PATH, connections: 32 }
  const cold: [Sample, Sample][] = []
  const warm: [Sample, Sample][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const both = await startBoth()
    try {
      cold.push(await takeBoth(both, call, round))
      for (const contestant of both) await take(contestant, call, WARM_UP_SECONDS)
      warm.push(await takeBoth(both, call, round))
    } finally {
      for (const contestant of both) await contestant.stop()
    }
  }
  printTable(`Fresh processes (32 connections, ${SECONDS} s each)`, [
    { ...call, label: 'first calls after the start', rounds: cold },
    { ...call, label: `after ${SECONDS + WARM_UP_SECONDS} s of calls`, rounds: warm },
  ])
}

async function measure(both: readonly [Contestant, Contestant], cases: readonly Case[]): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const one of cases) {
    for (const contestant of both) await take(contestant, one, 1)
    const rounds: [Sample, Sample][] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await takeBoth(both, one, round))
    measured.push({ ...one, rounds })
  }
  return measured
}

async function takeBoth(both: readonly [Contestant, Contestant], one: Case, round: number): Promise<[Sample, Sample]> {
  if (round % 2 === 0) return [await take(both[0], one), await take(both[1], one)]
  const second = await take(both[1], one)
  return [await take(both[0], one), second]
}

async function take(contestant: Contestant, one: Case, seconds = one.seconds ?? SECONDS): Promise<Sample> {
  const { label, path, bytes: _, ...options } = one
  const wholeCpuMs = contestant.wholeCpuMs ?? contestant.cpuMs
  const [startMs, wholeStartMs] = [contestant.cpuMs(), wholeCpuMs()]
  const url = new URL(path, contestant.url).href
  const result = await load({ ...options, url, token: contestant.token, seconds })
  const usPerCall = ((contestant.cpuMs() - startMs) * 1000) / result.calls
  const usPerCallWhole = ((wholeCpuMs() - wholeStartMs) * 1000) / result.calls
  console.error(`raw ${contestant.name} ${path} ${label} ${JSON.stringify({ usPerCall, usPerCallWhole, ...result })}`)
  return { usPerCall, usPerCallWhole, ...result }
}

function medianUs(rounds: Measured['rounds'], index: 0 | 1): number {
  return spreadOf(rounds.map((round) => round[index].usPerCall)).median
}

function printTable(title: string, measured: readonly Measured[]): void {
  console.log(`\n### ${title}\n`)
  const isLarge = measured.some(({ bytes = 0 }) => bytes >= LARGE_BYTES_MIN)
  const columns = ['', 'tollgate, µs', 'whole process, µs', 'nginx, µs', 'ratio']
  columns.push('tollgate, calls/s', 'nginx, calls/s', 'p99, ms', 'failed')
  if (isLarge) columns.push('tollgate, MB/s', 'nginx, MB/s', 'ratio of MB/s')
  console.log(`| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}`)
  for (const one of measured) console.log(`| ${cells(one, isLarge).join(' | ')} |`)
}

function cells({ label, rounds, connections, bytes = 0 }: Measured, isLarge: boolean): string[] {
  const of = (read: (round: readonly [Sample, Sample]) => number) => spreadOf(rounds.map(read))
  const whole = (value: number): string => Math.round(value).toLocaleString('en')
  const rate = (index: 0 | 1): number => of((round) => round[index].callsPerSecond).median
  const megabytes = (index: 0 | 1): string => whole((rate(index) * bytes) / 1e6)
  const row = [
    isLarge ? `${label}, ${connections} connections` : label,
    toText(
      of(([ours]) => ours.usPerCall),
      1,
    ),
    of(([ours]) => ours.usPerCallWhole).median.toFixed(1),
    toText(
      of(([, theirs]) => theirs.usPerCall),
      1,
    ),
    toText(
      of(([ours, theirs]) => ours.usPerCall / theirs.usPerCall),
      2,
    ),
    whole(rate(0)),
    whole(rate(1)),
    [0, 1].map((index) => of((round) => round[index as 0 | 1].p99Ms).median.toFixed(1)).join(' / '),
    [0, 1].map((index) => rounds.reduce((sum, round) => sum + round[index as 0 | 1].failed, 0)).join(' / '),
  ]
  if (!isLarge) return row
  if (bytes < LARGE_BYTES_MIN) return [...row, '', '', '']
  const ratio = of(([ours, theirs]) => ours.callsPerSecond / theirs.callsPerSecond)
  return [...row, megabytes(0), megabytes(1), toText(ratio, 2)]
}

function draw(name: string, chart: Omit<Parameters<typeof drawChart>[0], 'yLabel'>): void {
  mkdirSync(CHARTS, { recursive: true })
  writeFileSync(join(CHARTS, `${name}.svg`), drawChart({ ...chart, yLabel: 'µs of CPU per call' }))
}
