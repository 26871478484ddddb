/**
 * What a call through MCP costs beside the same call without it, on one gateway thread.
 *
 * Both go over real connections to the same operation, with the same token, limits and record; they are loaded in turn, round by
 * round, and ratios are made within a round. CPU is that of the gateway thread (see `process-cpu.ts`), calls are those that wrk
 * counted. The target is a ratio of at most 2.
 *
 *   BENCH_ROUNDS=7 BENCH_SECONDS=4 BENCH_CONNECTIONS=32 node bench/mcp.ts
 */

import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { request } from 'undici'
import { BENCH_PATH } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { gatewayCpuMs, startSubject, type Subject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

interface Channel {
  readonly name: string
  readonly url: string
  /** A script of wrk that makes the requests; a GET without one. */
  readonly script?: string
}

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const WARM_UP_SECONDS = 3
const TARGET = 2
const TOOL = 'getItem'
const STATELESS = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
}

console.log(`machine: ${describeMachine()}`)
console.log(`load:    wrk, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each\n`)
const workbench = await openWorkbench()
try {
  const subject = await startSubject(workbench.backendPort)
  try {
    await subject.platform.put(`/v1/apis/${BENCH_API}/policy`, { mcp: true })
    report(await runRounds(subject, await openChannels(subject)))
  } finally {
    await subject.service.stop()
  }
} finally {
  await workbench.close()
}

async function openChannels(subject: Subject): Promise<readonly Channel[]> {
  const { gatewayUrl } = subject.service
  return [
    { name: 'without MCP', url: gatewayUrl + BENCH_PATH },
    await openMcp(subject, '2025-11-25', {}, {}),
    await openMcp(subject, STATELESS, { _meta: META }, { 'Mcp-Method': 'tools/call', 'Mcp-Name': TOOL }),
  ]
}

/** Writes the script for a revision of the protocol, after one call that must succeed. */
async function openMcp(
  { service, enrolment }: Subject,
  revision: string,
  members: object,
  names: Readonly<Record<string, string>>,
): Promise<Channel> {
  const url = `${service.gatewayUrl}/${BENCH_API}/mcp`
  const params = { name: TOOL, arguments: { itemId: basename(BENCH_PATH) }, ...members }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': revision,
    ...names,
  }
  const authorization = `Bearer ${enrolment.token}`
  const answer = await request(url, { method: 'POST', headers: { ...headers, authorization }, body })
  const text = await answer.body.text()
  if (!text.includes('"isError":false')) throw new Error(`the tool call failed: ${text}`)
  const script = join(workbench.dir, `${revision}.lua`)
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = [[${value}]]`)
  writeFileSync(script, ['wrk.method = "POST"', `wrk.body = [[${body}]]`, ...lines].join('\n'))
  return { name: `over MCP, ${revision}`, url, script }
}

async function runRounds(subject: Subject, channels: readonly Channel[]): Promise<Map<Channel, number[]>> {
  const samples = new Map<Channel, number[]>(channels.map((channel) => [channel, []]))
  for (const channel of channels) await take(subject, channel, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? channels : channels.toReversed()
    for (const channel of order) samples.get(channel)?.push(await take(subject, channel, SECONDS))
  }
  return samples
}

/** Returns the CPU per call, in microseconds. */
async function take({ service, enrolment }: Subject, { name, url, script }: Channel, seconds: number): Promise<number> {
  const startMs = gatewayCpuMs(service.pid)
  const { token } = enrolment
  const { calls, failed } = await load({ url, token, connections: CONNECTIONS, seconds, ...(script && { script }) })
  if (failed > 0 || calls === 0) throw new Error(`${name}: ${failed} of ${calls} calls failed`)
  return ((gatewayCpuMs(service.pid) - startMs) * 1_000) / calls
}

function report(samples: ReadonlyMap<Channel, readonly number[]>): void {
  const [[, plain] = [undefined, []]] = samples
  for (const [{ name }, taken] of samples) {
    const ratios = taken.map((each, round) => each / (plain[round] ?? NaN))
    console.log(`${name.padEnd(22)} ${toText(spreadOf(taken), 1)} µs, ratio ${toText(spreadOf(ratios), 2)}`)
  }
  console.log(`target of the ratio: ${TARGET}`)
}
