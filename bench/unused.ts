/**
 * What the code that was added since a commit costs a call that uses none of its features: the share of the CPU of the gateway thread
 * on lines that are new, less the share of the lines that they replaced.
 *
 * Two processes of the same code differ by more than one per cent, so a comparison of two commits does not show this. Profiles do:
 * they count samples by line, and the history says which lines are new here and which are gone from the reference. Lines that only
 * moved are neither. Work in native code and in Node is counted apart, for the line with which the function begins that called it: a
 * function that moved to a line of its own looks new.
 *
 *   git worktree add /tmp/reference COMMIT && (cd /tmp/reference && npm ci)
 *   BENCH_STARTS=3 BENCH_SECONDS=30 node bench/unused.ts /tmp/reference
 */

import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly hitCount: number
  readonly children?: readonly number[]
  readonly positionTicks?: readonly { readonly line: number; readonly ticks: number }[]
}

interface Checkout {
  readonly root: string
  readonly start: typeof startTollgate
  /** Whether the other checkout lacks a line. */
  readonly isOwn: (file: string, line: number) => boolean
}

/** In per cent of the samples of the busy thread. */
interface Shares {
  readonly ours: number
  readonly garbage: number
  readonly own: number
  /** Work in native code and in Node that begins in own functions. */
  readonly ownBelow: number
  /** By `file:line`. */
  readonly ownLines: ReadonlyMap<string, number>
}

const STARTS = Number(process.env['BENCH_STARTS'] ?? 3)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 30)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const INTERVAL_US = 250
const LINES_SHOWN = 10
const ROOT = join(import.meta.dirname, '..')
const IDLE: ReadonlySet<string> = new Set(['(idle)', '(root)'])

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder of the reference checkout')
const reference = resolve(folder)
const commit = git(reference, 'rev-parse', 'HEAD').trim()
const { added, gone } = compareLines()
const subject = (await import(join(reference, 'bench/subject/tollgate.ts'))) as { startTollgate: typeof startTollgate }
const here: Checkout = { root: ROOT, start: startTollgate, isOwn: (file, line) => added.has(`${file}:${line}`) }
const there: Checkout = {
  root: reference,
  start: subject.startTollgate,
  isOwn: (file, line) => gone.has(`${file}:${line}`),
}

console.log(`machine: ${describeMachine()}`)
console.log(
  `load:    wrk, ${CONNECTIONS} connections, ${STARTS} starts of ${SECONDS} s, a sample each ${INTERVAL_US} µs\n`,
)
const taken: (readonly [Shares, Shares])[] = []
for (let start = 0; start < STARTS; start++)
  taken.push([sharesOf(here, await profile(here)), sharesOf(there, await profile(there))])
print('our code, here', ([now]) => now.ours)
print('our code, reference', ([, then]) => then.ours)
print('collection of garbage, here', ([now]) => now.garbage)
print('collection of garbage, reference', ([, then]) => then.garbage)
print('new lines, here', ([now]) => now.own)
print('lines that are gone, reference', ([, then]) => then.own)
print('new less gone', ([now, then]) => now.own - then.own)
print('native work of new functions', ([now]) => now.ownBelow)
print('native work of those gone', ([, then]) => then.ownBelow)
printFiles()
printLines(
  '\nnew lines',
  ROOT,
  taken.map(([now]) => now),
)
printLines(
  '\nlines that are gone',
  reference,
  taken.map(([, then]) => then),
)

function print(name: string, part: (shares: readonly [Shares, Shares]) => number): void {
  console.log(`${name.padEnd(34)} ${toText(spreadOf(taken.map(part)), 2)} % of the busy gateway thread`)
}

/** New less gone by file; code that moved between files shows with both signs. */
function printFiles(): void {
  const nets = new Map<string, number>()
  for (const [now, then] of taken) {
    for (const [lines, sign] of [
      [now.ownLines, 1],
      [then.ownLines, -1],
    ] as const) {
      for (const [line, share] of lines) {
        const file = line.slice(0, line.indexOf(':'))
        nets.set(file, (nets.get(file) ?? 0) + (sign * share) / taken.length)
      }
    }
  }
  console.log('\nnew less gone, by file')
  for (const [file, net] of [...nets].toSorted(([, a], [, b]) => b - a).slice(0, LINES_SHOWN))
    console.log(`  ${net.toFixed(2)} %  ${file}`)
}

function printLines(title: string, root: string, shares: readonly Shares[]): void {
  const sums = new Map<string, number>()
  for (const { ownLines } of shares)
    for (const [line, share] of ownLines) sums.set(line, (sums.get(line) ?? 0) + share / shares.length)
  console.log(title)
  for (const [line, share] of [...sums].toSorted(([, a], [, b]) => b - a).slice(0, LINES_SHOWN)) {
    const [file = '', number] = line.split(':')
    const text = readFileSync(join(root, file), 'utf8').split('\n')[Number(number) - 1] ?? ''
    console.log(`  ${share.toFixed(2)} %  ${line}  ${text.trim().slice(0, 80)}`)
  }
}

/** Returns the profile of the gateway thread under load. */
async function profile({ root, start }: Checkout): Promise<readonly ProfileNode[]> {
  const workbench = await openWorkbench()
  const target = mkdtempSync(join(tmpdir(), 'tollgate-profile-'))
  try {
    const options = `--cpu-prof --cpu-prof-dir=${target} --cpu-prof-interval=${INTERVAL_US}`
    const { url, token, stop } = await start(workbench.backendPort, { NODE_OPTIONS: options })
    const { calls, failed } = await load({ url, token, connections: CONNECTIONS, seconds: SECONDS })
    await stop()
    if (failed > 0 || calls === 0) throw new Error(`${failed} of ${calls} calls failed`)
    const profiles = globSync(join(target, '*.cpuprofile')).map(
      (file) => (JSON.parse(readFileSync(file, 'utf8')) as { nodes: readonly ProfileNode[] }).nodes,
    )
    const hits = (nodes: readonly ProfileNode[]): number =>
      nodes.reduce((sum, node) => (fileOf(root, node)?.startsWith('src/gateway/') ? sum + node.hitCount : sum), 0)
    const [gateway] = profiles.toSorted((a, b) => hits(b) - hits(a))
    if (gateway === undefined) throw new Error('the service wrote no profile')
    return gateway
  } finally {
    rmSync(target, { recursive: true, force: true })
    await workbench.close()
  }
}

function sharesOf({ root, isOwn }: Checkout, nodes: readonly ProfileNode[]): Shares {
  const callers = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)))
  const busyNodes = nodes.filter(({ callFrame }) => !IDLE.has(callFrame.functionName))
  const percent = 100 / busyNodes.reduce((sum, { hitCount }) => sum + hitCount, 0)
  const ownLines = new Map<string, number>()
  let [ours, garbage, own, ownBelow] = [0, 0, 0, 0]
  const add = (file: string, line: number, ticks: number): void => {
    if (!isOwn(file, line)) return
    own += ticks * percent
    ownLines.set(`${file}:${line}`, (ownLines.get(`${file}:${line}`) ?? 0) + ticks * percent)
  }
  for (const node of busyNodes) {
    if (node.callFrame.functionName === '(garbage collector)') garbage += node.hitCount * percent
    const file = fileOf(root, node)
    if (file !== null) {
      ours += node.hitCount * percent
      for (const { line, ticks } of node.positionTicks ?? []) add(file, line, ticks)
      continue
    }
    let caller = callers.get(node.id)
    while (caller !== undefined && fileOf(root, caller) === null) caller = callers.get(caller.id)
    if (caller !== undefined && isOwn(fileOf(root, caller)!, caller.callFrame.lineNumber + 1))
      ownBelow += node.hitCount * percent
  }
  return { ours, garbage, own, ownBelow, ownLines }
}

/** Returns the path from the root of the checkout; null: not our code. */
function fileOf(root: string, { callFrame: { url } }: ProfileNode): string | null {
  if (!url.startsWith('file:')) return null
  const path = fileURLToPath(url)
  return path.startsWith(`${root}/src/`) ? path.slice(root.length + 1) : null
}

/** Returns the lines (`file:line`) that only this checkout has, and those that only the reference has. */
function compareLines(): { readonly added: ReadonlySet<string>; readonly gone: ReadonlySet<string> } {
  const changed = git(ROOT, 'diff', '--name-only', commit, 'HEAD', '--', 'src/*.ts').trim().split('\n')
  const kept = new Set<string>()
  const fresh = new Set<string>()
  for (const file of changed.filter((each) => isIn('HEAD', each))) {
    for (const { isOld, from, at } of blame(file)) {
      if (isOld) kept.add(from)
      else fresh.add(at)
    }
  }
  const before = changed.filter((file) => isIn(commit, file))
  const lines = before.flatMap((file) =>
    git(ROOT, 'show', `${commit}:${file}`)
      .split('\n')
      .map((_text, index) => `${file}:${index + 1}`),
  )
  return { added: fresh, gone: new Set(lines.filter((line) => !kept.has(line))) }
}

function isIn(revision: string, file: string): boolean {
  return git(ROOT, 'ls-tree', '--name-only', revision, file) !== ''
}

/** Where each line of a file comes from; `-M` and `-C` find those that moved. */
function blame(file: string): { readonly isOld: boolean; readonly from: string; readonly at: string }[] {
  const text = git(ROOT, 'blame', '--line-porcelain', '-w', '-M', '-C', `${commit}..HEAD`, '--', file)
  const found: { isOld: boolean; from: string; at: string }[] = []
  let [line, at, isOld] = ['', '', false]
  for (const each of text.split('\n')) {
    const header = /^[0-9a-f]{40} (\d+) (\d+)/.exec(each)
    if (header !== null) [line, at, isOld] = [header[1]!, `${file}:${header[2]}`, false]
    else if (each === 'boundary') isOld = true
    else if (each.startsWith('filename ')) found.push({ isOld, from: `${each.slice('filename '.length)}:${line}`, at })
  }
  return found
}

function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 })
}
