/**
 * Memory of an idle service, and the size of what is installed.
 *
 * Starts the service on a fresh data folder with one gateway thread, once without and once with the sample API, and reads
 * `/proc/PID/smaps` after it has been idle. Each thread reports its heap. The embedded engine is measured a second time in a
 * process of its own, because inside the service its memory cannot be told from that of others.
 *
 *   node bench/footprint.ts                      # IDLE_SECONDS=60 ROUNDS=3
 *   node bench/footprint.ts installed FOLDER     # sizes of the packages after `npm ci --omit=dev` in FOLDER
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startService } from '../src/interfaces/cli/service-process.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'

const IDLE_SECONDS = Number(process.env['IDLE_SECONDS'] ?? 60)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
/** A machine that is busy otherwise takes long. */
const START_MS_MAX = 120_000
const KIB = 1024
const MIB = KIB * KIB
const HEAP_REPORTS = join(import.meta.dirname, 'subject/heap-report.mjs')
const ENGINE = join(import.meta.dirname, 'subject/engine-memory.mjs')
/** Packages below this size are summed up. */
const LISTED_MIB = 4

type Sizes = Record<string, number>

console.log(`machine: ${describeMachine()}`)
const [mode, folder] = process.argv.slice(2)
if (mode === 'installed') printInstalled(folder ?? '.')
else {
  await printIdle('--empty', ['--empty'])
  await printIdle('sample API', [])
  printEngine()
}

async function printIdle(name: string, args: readonly string[]): Promise<void> {
  const rounds: Sizes[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureIdle(args))
  console.log(`\n${name}, ${IDLE_SECONDS} s after the start, MiB, median (min – max) of ${ROUNDS}:`)
  print(rounds)
}

function printEngine(): void {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const text = execFileSync(process.execPath, [ENGINE], { encoding: 'utf8' })
    return JSON.parse(text) as Sizes
  })
  console.log(`\nthe embedded engine in a process of its own, MiB:`)
  print(rounds)
}

function print(rounds: readonly Sizes[]): void {
  const names = new Set(rounds.flatMap((sizes) => Object.keys(sizes)))
  for (const name of names)
    console.log(`  ${name.padEnd(44)} ${toText(spreadOf(rounds.map((sizes) => sizes[name] ?? 0)), 0)}`)
}

async function measureIdle(args: readonly string[]): Promise<Sizes> {
  const reports = mkdtempSync(join(tmpdir(), 'tollgate-heap-'))
  const NODE_OPTIONS = `--import=${HEAP_REPORTS}`
  const env = { GATEWAY_THREADS: '1', NODE_OPTIONS, HEAP_REPORTS: reports }
  const service = await startService({ args, env, startMsMax: START_MS_MAX })
  try {
    await pause(IDLE_SECONDS * 1_000)
    return { ...readMaps(service.pid), ...readReports(reports) }
  } finally {
    await service.stop()
    rmSync(reports, { recursive: true })
  }
}

/** Resident memory of each kind of mapping; anonymous memory includes what was written to mappings of files. */
function readMaps(pid: number): Sizes {
  const sizes: Sizes = { 'resident (RSS)': 0, 'proportional (PSS)': 0, anonymous: 0 }
  let kind = ''
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const [, path] = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)$/.exec(line) ?? []
    if (path !== undefined) kind = kindOf(path)
    const [, name, kib] = /^(Rss|Pss|Anonymous): +(\d+) kB$/.exec(line) ?? []
    const mib = Number(kib) / KIB
    if (name === 'Rss') add(sizes, 'resident (RSS)', mib)
    if (name === 'Rss') add(sizes, kind, mib)
    if (name === 'Pss') add(sizes, 'proportional (PSS)', mib)
    if (name === 'Anonymous') {
      add(sizes, 'anonymous', mib)
      if (kind.startsWith('file pages')) add(sizes, kind, -mib)
    }
  }
  return sizes
}

function kindOf(path: string): string {
  if (path.endsWith('libchdb.so')) return 'file pages: engine'
  if (path.endsWith('/node')) return 'file pages: Node'
  if (path.startsWith('/')) return 'file pages: others'
  return path === '[heap]' ? 'malloc: main arena' : 'anonymous mappings'
}

function add(sizes: Sizes, name: string, mib: number): void {
  sizes[name] = (sizes[name] ?? 0) + mib
}

/** The last report of each thread that still runs. */
function readReports(folder: string): Sizes {
  const sizes: Sizes = {}
  for (const file of readdirSync(folder)) {
    const path = join(folder, file)
    if (Date.now() - statSync(path).mtimeMs > 5_000) continue
    const { thread, heapBytes, externalBytes } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>
    sizes[`heap of ${thread}`] = heapBytes! / MIB
    sizes[`… its buffers and WebAssembly`] = (sizes[`… its buffers and WebAssembly`] ?? 0) + externalBytes! / MIB
  }
  return sizes
}

function printInstalled(root: string): void {
  const modules = join(root, 'node_modules')
  const folders = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  )
  const sizes = new Map(folders.map((name) => [name, mibOf(join(modules, name))]))
  const total = mibOf(modules)
  console.log(`\nnode_modules: ${total} MiB, ${folders.length} entries`)
  for (const [name, mib] of [...sizes].sort((a, b) => b[1] - a[1])) {
    if (mib >= LISTED_MIB) console.log(`  ${name.padEnd(44)} ${mib}`)
  }
}

/** Like `du`: blocks on disk, and files with several links once. */
function mibOf(path: string): number {
  return Number(execFileSync('du', ['-sm', path], { encoding: 'utf8' }).split('\t')[0])
}
