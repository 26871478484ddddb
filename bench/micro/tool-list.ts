/**
 * What the tools of a document with more than a thousand operations cost a gateway thread: GitHub's, over MCP.
 *
 * The target is 50 ms for each answer. The time is that of the processor, so that other programs on the machine hardly change it. Cold answers are the first ones after an activation, when nothing is compiled: the first page
 * of `tools/list`, the longest page, and the first answers of search mode. "First" is the first activation of a process, whose code
 * is not optimised yet; "later" are further activations in the same process. Each row ends with the median of the elapsed time.
 *
 *   BENCH_PROCESSES=9 node bench/micro/tool-list.ts
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCallerContext, type CallerContext } from '../../src/gateway/call/caller-context.ts'
import { compileRevision, type CompiledRevision } from '../../src/gateway/call/revision.ts'
import { createLimiter } from '../../src/limits/limiter.ts'
import { answerMessage } from '../../src/gateway/mcp/answer-message.ts'
import { compileRoutePlan } from '../../src/documents/governance/serving/compile-route-plan.ts'
import { readSpecification } from '../../src/documents/governance/specification.ts'
import type { Caller } from '../../src/boundary/plan/caller.ts'
import { describeMachine } from '../machine.ts'
import { spreadOf, toText } from '../spread.ts'

type Answer = ReturnType<typeof answerMessage>
type Times = Readonly<Record<string, Time>>

interface Time {
  readonly cpuMs: number
  readonly elapsedMs: number
}

const GITHUB = join(import.meta.dirname, '../../node_modules/@octokit/openapi/generated/api.github.com.json')
const PROCESSES = Number(process.env['BENCH_PROCESSES'] ?? 9)
const LATER = 5
const CHILD = 'one process'

if (process.argv[2] === CHILD) process.stdout.write(JSON.stringify(await measureProcess()))
else report()

function report(): void {
  console.log(`machine: ${describeMachine()}; ${PROCESSES} processes, ${LATER} later activations each`)
  const rounds = Array.from({ length: PROCESSES }, () => {
    const output = execFileSync(process.execPath, [import.meta.filename, CHILD], { maxBuffer: 2 ** 24 })
    return JSON.parse(output.toString()) as readonly Times[]
  })
  print(
    'first',
    rounds.map(([first]) => first!),
  )
  print(
    'later',
    rounds.flatMap(([, ...later]) => later),
  )
}

function print(when: string, times: readonly Times[]): void {
  for (const name of Object.keys(times[0]!)) {
    const taken = times.map((each) => each[name]!)
    const cpu = toText(spreadOf(taken.map(({ cpuMs }) => cpuMs)), 2)
    const elapsed = spreadOf(taken.map(({ elapsedMs }) => elapsedMs)).median.toFixed(2)
    console.log(`${when.padEnd(6)} ${name.padEnd(36)} ${cpu} ms, elapsed ${elapsed}`)
  }
}

async function measureProcess(): Promise<Times[]> {
  const plan = await readPlan()
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const revision = await compileRevision(plan, [], limiter, {
    threads: 1,
    gatewayUrl: 'https://gateway.example',
    connect: (_, base) => base,
  })
  const rounds: Times[] = []
  for (let round = 0; round <= LATER; round++) rounds.push({ ...measureTools(revision), ...measureSearch(revision) })
  return rounds
}

async function readPlan() {
  const document = JSON.parse(readFileSync(GITHUB, 'utf8')) as object
  const bytes = Buffer.from(JSON.stringify({ ...document, 'x-tollgate-mcp': true }))
  const specification = await readSpecification(bytes)
  const plan = compileRoutePlan({
    specification,
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: { origin: 'https://api.github.com', basePath: '', timeoutMs: 30_000, mayBePrivate: false },
    allowedScopes: [],
    memberOfProductIds: [],
  })
  const scopes = plan.operations.flatMap(({ security }) => security.flatMap(({ tokenScopes }) => tokenScopes ?? []))
  return { ...plan, allowedScopes: [...new Set(scopes)] }
}

/** Returns the times of `mode: tools`. */
function measureTools(revision: CompiledRevision): Times {
  const context = activate(revision, 'tools')
  const pages: Time[] = []
  let cursor: string | undefined
  do {
    const [time, answer] = timed(() => list(context, cursor))
    pages.push(time)
    cursor = answer.nextCursor
  } while (cursor !== undefined)
  if (pages.length < 2) throw new Error('the caller may not call the operations')
  const [warm] = timed(() => list(context, undefined))
  const other = { ...context, caller: { ...context.caller } }
  const [otherGrant] = timed(() => list(other, undefined))
  const [first, ...rest] = pages as [Time, ...Time[]]
  return {
    'tools/list, first page, cold': first,
    'tools/list, longest later page, cold': longest(rest),
    [`tools/list, all ${pages.length} pages, cold`]: pages.reduce(sum),
    'tools/list, first page, warm': warm,
    'tools/list, first page, other grant': otherGrant,
  }
}

/** Returns the times of search mode. */
function measureSearch(revision: CompiledRevision): Times {
  const context = activate(revision, 'search')
  const [listed] = timed(() => list(context, undefined))
  const [first] = timed(() => search(context, 'create issue comment'))
  const [next] = timed(() => search(context, 'list repository branches protection'))
  return {
    'search mode, list, cold': listed,
    'search mode, first search': first,
    'search mode, next search': next,
  }
}

/** Returns a caller of a revision whose tools nobody has used. */
function activate(revision: CompiledRevision, mode: 'tools' | 'search'): CallerContext {
  const plan = { ...revision.plan, mcp: { isOn: true, mode } }
  return createCallerContext(
    createCaller(plan.allowedScopes),
    { ...revision, plan, operations: [...revision.operations] },
    null,
  )
}

function list(context: CallerContext, cursor: string | undefined): Answer {
  return ask(context, 'tools/list', { cursor })
}

function search(context: CallerContext, query: string): Answer {
  return ask(context, 'tools/call', { name: 'search_operations', arguments: { query } })
}

function ask(context: CallerContext, method: string, params: Record<string, unknown>): Answer {
  return answerMessage(context, { id: 1, method, params }, 1, 'stateless')
}

function timed(run: () => Answer): readonly [Time, { readonly nextCursor?: string }] {
  const startMs = performance.now()
  const before = process.threadCpuUsage()
  const answer = run()
  const { user, system } = process.threadCpuUsage(before)
  const time = { cpuMs: (user + system) / 1_000, elapsedMs: performance.now() - startMs }
  if (typeof answer !== 'string') throw new Error(answer.text)
  return [time, (JSON.parse(answer) as { result: { nextCursor?: string } }).result]
}

function longest(times: readonly Time[]): Time {
  return times.reduce((most, each) => (each.cpuMs > most.cpuMs ? each : most))
}

function sum(one: Time, other: Time): Time {
  return { cpuMs: one.cpuMs + other.cpuMs, elapsedMs: one.elapsedMs + other.elapsedMs }
}

/** Returns a caller that may call all operations. */
function createCaller(scopes: readonly string[]): Caller {
  return {
    grant: {
      credential: 'crd_1',
      type: 'ApiKey',
      valid: true,
      active: true,
      expiresAtMs: 0,
      tenant: 'acme',
      subscription: 'sub_1',
      consumer: 'con_1',
      consumerName: 'Agent',
      consumerKind: 'agent',
      api: '',
      apiProductId: '',
      scopes: [],
      variant: '',
      version: 1,
      subscriptionRevision: 1,
    },
    method: 'token',
    api: '',
    scopes: new Set(scopes),
    certificate: '',
    agent: '',
    person: '',
    jti: '',
    expiresAtMs: Infinity,
  }
}
