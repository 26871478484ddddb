/**
 * Hostile clients and backends beside a well-behaved client: slow readers, slow uploads, fuzzed requests,
 * floods and backends that violate the protocol, all at the same time.
 *
 * `HOSTILE_SECONDS` sets the duration (12 in the suite; `npm run hostile` makes it 900); `SEED` repeats a
 * run. The counts are asserted; times and memory are printed, for `bench/RESULTS.md`.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSeed } from '../random-seed.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const SECONDS = Number(process.env['HOSTILE_SECONDS'] ?? 8)
const SEED = readSeed(1)
const CALL_EVERY_MS = 20
/** The hostile clients connect at the same moment, which is reported separately. */
const ARRIVAL_MS = 15_000

let service: Service
let backend: ChildProcess
let good: Enrolled
let bad: Enrolled
let badlyBroken: Enrolled

const answers = { default: { description: 'anything' } }
const octets = { content: { 'application/octet-stream': {} } }
const document = (title: string) => ({
  openapi: '3.1.0',
  info: { title, version: '1.0.0' },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  security: [{ key: [] }],
  paths: {
    '/ok': { get: { operationId: 'ok', responses: answers } },
    '/any': { get: { operationId: 'any', security: [], responses: answers } },
    '/long': { get: { operationId: 'long', responses: answers } },
    '/upload': { post: { operationId: 'upload', requestBody: octets, responses: answers } },
    '/public-upload': { post: { operationId: 'publicUpload', security: [], requestBody: octets, responses: answers } },
  },
})

beforeAll(async () => {
  backend = run('backend.ts', [String(SEED)])
  const [well, badly] = (await firstLine(backend)).split(' ')
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'things-v1', document('Things'), `http://127.0.0.1:${well}`)
  await publish(service, 'broken-v1', document('Broken'), `http://127.0.0.1:${badly}`)
  good = await enrol(service, 'things-v1', { name: 'Good' })
  bad = await enrol(service, 'things-v1', { name: 'Bad' })
  badlyBroken = await enrol(service, 'broken-v1', { name: 'Unlucky' })
})

afterAll(async () => {
  backend.kill('SIGKILL')
  await service.remove()
})

describe(`a well-behaved client beside ${SECONDS} s of hostile ones`, () => {
  it(
    'gets 200 for every call, is billed for each once, and no thread dies',
    { timeout: SECONDS * 2_000 + 120_000 },
    async () => {
      const attack = run('attack.ts', [service.gatewayUrl, String(SECONDS), String(SEED), bad.apiKey])
      const tally = firstLine(attack)
      const memory: number[] = []
      const { statuses, latenciesMs } = await callWell(() => attack.exitCode === null, memory)
      const other = await fetch(`${service.gatewayUrl}/broken-v1/ok`, { headers: { 'x-api-key': badlyBroken.apiKey } })
      await other.body?.cancel()

      report(await tally, latenciesMs, memory)
      expect(Object.fromEntries(statuses), `seed ${SEED}`).toEqual({ 200: latenciesMs.length })
      const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
      for (const reason of [
        'gateway_thread_gone',
        'call_lost_with_thread',
        'call_failed',
        'thread_fault',
        'call_not_recorded',
      ]) {
        expect(metrics, `seed ${SEED}\n${service.errors()}`).not.toContain(`reason="${reason}"`)
      }
      await service.stop()
      await service.start()
      expect(await billedTo(good.consumer), `seed ${SEED}`).toBe(latenciesMs.length)
    },
  )
})

/** Calls at a steady pace, whatever the response times; a failed call counts as status 0. */
async function callWell(isOn: () => boolean, memory: number[]) {
  const agent = new Agent({ connections: 50, pipelining: 1 })
  const statuses = new Map<number, number>()
  const latenciesMs: number[] = []
  const pending = new Set<Promise<void>>()

  async function callOnce(): Promise<void> {
    const startedAt = performance.now()
    let status = 0
    try {
      const headers = { 'x-api-key': good.apiKey }
      const answer = await agent.request({ origin: service.gatewayUrl, path: '/things-v1/ok', method: 'GET', headers })
      await answer.body.text()
      status = answer.statusCode
    } catch {
      status = 0
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    latenciesMs.push(performance.now() - startedAt)
  }

  while (isOn()) {
    const call = callOnce().finally(() => pending.delete(call))
    pending.add(call)
    if (latenciesMs.length % 50 === 0) memory.push(residentMb(service.pid()))
    await new Promise((resolve) => setTimeout(resolve, CALL_EVERY_MS))
  }
  await Promise.all(pending)
  await agent.close()
  return { statuses, latenciesMs }
}

async function billedTo(customer: string): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(
    `/v1/summaries?api=things-v1&customer=${customer}`,
  )
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

function report(tally: string, latenciesMs: readonly number[], memory: readonly number[]): void {
  const arrived = Math.floor(ARRIVAL_MS / CALL_EVERY_MS)
  const third = Math.ceil(memory.length / 3)
  const middle = (part: readonly number[]): number =>
    [...part].sort((a, b) => a - b)[Math.floor(part.length / 2)] ?? NaN
  process.stdout.write(
    `hostile, ${SECONDS} s, seed ${SEED}: ${tally}\n` +
      `well-behaved calls, all: ${spread(latenciesMs)}\n` +
      `well-behaved calls after the arrival: ${spread(latenciesMs.slice(arrived))}\n` +
      `resident MB, by thirds of the run: ${[0, 1, 2].map((part) => middle(memory.slice(part * third, (part + 1) * third))).join(', ')}\n`,
  )
}

/** Calls are sorted by the time of their end. */
function spread(latenciesMs: readonly number[]): string {
  const sorted = [...latenciesMs].sort((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? NaN).toFixed(1)
  return `${sorted.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}

function residentMb(pid: number): number {
  const [, pages] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
  return Math.round((Number(pages) * 4_096) / 2 ** 20)
}

function run(file: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, 'hostile', file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)))
  })
}
