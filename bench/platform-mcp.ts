/**
 * What a call through MCP costs beside the same call without it, at the platform.
 *
 * Both ask for the same list with the same tokens, limits and record. They are made in turn, and ratios are made within a round. CPU is that of the whole process, since the platform runs on its main thread. Each connection belongs to a
 * consumer of its own, because calls of the platform are limited per subscription. The target is a ratio of at most 2.
 *
 *   BENCH_ROUNDS=7 BENCH_CALLS=2000 node bench/platform-mcp.ts
 */

import { Client } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { createPlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { describeMachine } from './machine.ts'
import { processCpuMs } from './process-cpu.ts'
import { spreadOf, toText } from './spread.ts'

interface Channel {
  readonly name: string
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** A part of each answer that was served. */
  readonly served: string
}

interface Connection {
  readonly client: Client
  readonly token: string
}

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7)
const CALLS = Number(process.env['BENCH_CALLS'] ?? 2_000)
/** The channels take turns within a round, so that what the machine does beside it affects them alike. */
const SLICES = 8
const CONNECTIONS = 8
/** The calls that the default tier of the platform permits per minute. */
const CALLS_PER_MINUTE = 6_000
const TARGET = 2
const TOOL = 'list_consumers'
const STATELESS = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
}
const CHANNELS: readonly Channel[] = [
  { name: 'without MCP', path: '/v1/consumers', method: 'GET', headers: {}, body: null, served: '"items":' },
  overMcp('2025-11-25', {}, {}),
  overMcp(STATELESS, { _meta: META }, { 'mcp-method': 'tools/call', 'mcp-name': TOOL }),
]

console.log(`machine: ${describeMachine()}`)
console.log(`load:    ${CONNECTIONS} connections, ${ROUNDS} rounds of ${CALLS} calls each\n`)
const service = await startService({ args: ['--empty'], env: { GATEWAY_THREADS: '1' } })
try {
  report(await runRounds(service, await connect(service)))
} finally {
  await service.stop()
}

function overMcp(revision: string, members: object, names: Readonly<Record<string, string>>): Channel {
  const params = { name: TOOL, arguments: {}, ...members }
  return {
    name: `over MCP, ${revision}`,
    path: '/mcp',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      ...names,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    served: '"isError":false',
  }
}

async function connect({ gatewayUrl, baseUrl, ...address }: ServiceProcess): Promise<readonly Connection[]> {
  const platform = createPlatformClient({ gatewayUrl, baseUrl, ...address })
  const api = 'platform-v1'
  const connections: Connection[] = []
  for (let n = 0; n < CONNECTIONS; n++) {
    const options = {
      platform,
      gatewayUrl,
      api,
      name: `bench ${n}`,
      kind: 'agent',
      scopes: ['consumers:read'],
    } as const
    const { token } = await enrol(options)
    connections.push({ client: new Client(baseUrl), token })
  }
  return connections
}

async function runRounds(
  { pid }: ServiceProcess,
  connections: readonly Connection[],
): Promise<ReadonlyMap<Channel, readonly number[]>> {
  const samples = new Map<Channel, number[]>(CHANNELS.map((channel) => [channel, []]))
  for (let round = -1; round < ROUNDS; round++) {
    const startedMs = performance.now()
    const used = new Map<Channel, number>(CHANNELS.map((channel) => [channel, 0]))
    for (let slice = 0; slice < SLICES; slice++) {
      for (const channel of slice % 2 === 0 ? CHANNELS : CHANNELS.toReversed()) {
        const startMs = processCpuMs(pid)
        await callAll(connections, channel)
        used.set(channel, (used.get(channel) ?? 0) + processCpuMs(pid) - startMs)
      }
    }
    // The first round warms up.
    if (round >= 0) for (const [channel, ms] of used) samples.get(channel)?.push((ms * 1_000) / CALLS)
    const perConnection = (CHANNELS.length * CALLS) / CONNECTIONS
    const leftMs = (perConnection / CALLS_PER_MINUTE) * 60_000 - (performance.now() - startedMs)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, leftMs)))
  }
  for (const { client } of connections) await client.close()
  return samples
}

async function callAll(connections: readonly Connection[], channel: Channel): Promise<void> {
  const { name, path, method, body, served } = channel
  await Promise.all(
    connections.map(async ({ client, token }) => {
      const headers = { ...channel.headers, authorization: `Bearer ${token}` }
      for (let call = 0; call < CALLS / SLICES / CONNECTIONS; call++) {
        const answer = await client.request({ path, method, headers, body })
        const text = await answer.body.text()
        if (answer.statusCode !== 200 || !text.includes(served)) throw new Error(`${name}: ${text.slice(0, 500)}`)
      }
    }),
  )
}

function report(samples: ReadonlyMap<Channel, readonly number[]>): void {
  const [[, plain] = [undefined, []]] = samples
  for (const [{ name }, taken] of samples) {
    const ratios = taken.map((each, round) => each / (plain[round] ?? NaN))
    console.log(`${name.padEnd(22)} ${toText(spreadOf(taken), 0)} µs, ratio ${toText(spreadOf(ratios), 2)}`)
  }
  console.log(`target of the ratio: ${TARGET}`)
}
