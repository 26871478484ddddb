/**
 * What others feel while a document of 10 MB is published: GitHub's, indented to that size.
 *
 * Calls of the platform API and of another API go on at a steady pace while the document is validated, staged, activated, staged
 * again (which compares it with the active one) and activated again. Memory is the most that the process has resident meanwhile,
 * beyond what it had before.
 *
 *   node bench/large-document.ts
 */

import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { readGithubDocument } from '../test/fixtures/real-documents.ts'
import { BENCH_PATH } from './contestant.ts'
import { startLatencyProbe, type LatencyProbe } from './latency-probe.ts'
import { describeMachine } from './machine.ts'
import { startSubject, type Subject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const API = 'github-s-official-openapi-spec-octokit-extension-v1'
const QUIET_MS = 5_000
const WARM_UP_MS = 3_000
const TIMEOUT_MS = 120_000
const SAMPLE_MS = 20

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
try {
  const subject = await startSubject(workbench.backendPort)
  const { service, platform, enrolment } = subject
  const probe = startLatencyProbe([
    { name: 'platform API', url: `${service.baseUrl}/v1/apis`, token: await platform.token() },
    { name: 'gateway', url: service.gatewayUrl + BENCH_PATH, token: enrolment.token },
  ])
  try {
    await measure(subject, probe)
  } finally {
    await probe.stop()
    await service.stop()
  }
} finally {
  await workbench.close()
}

async function measure(subject: Subject, probe: LatencyProbe): Promise<void> {
  await pause(WARM_UP_MS)
  await report('nothing else', subject, probe, () => pause(QUIET_MS))
  let proxy = ''
  const published = readGithubDocument()
  const first = toBody('1.1.4')
  const second = toBody('1.1.5')
  console.log(`document: ${(published.length / 1e6).toFixed(1)} MB`)
  const backend = { url: 'https://api.github.com' }
  await report('validated', subject, probe, () =>
    send(subject, '/v1/programmes/validate', { specification: published.toString('base64') }),
  )
  await report('staged', subject, probe, async () => {
    proxy = (await send(subject, '/v1/proxies', { ...first, backend })).id
  })
  await report('activated', subject, probe, () => send(subject, `/v1/proxies/${proxy}/activate`))
  await report('scored', subject, probe, () => pause(QUIET_MS))
  await report('staged again, compared', subject, probe, () => send(subject, '/v1/proxies', second))
  await report('activated again', subject, probe, () => send(subject, `/v1/proxies/${proxy}/activate`))
}

async function report(
  name: string,
  { service }: Subject,
  probe: LatencyProbe,
  work: () => Promise<unknown>,
): Promise<void> {
  const before = residentMb(service.pid)
  let most = before
  const timer = setInterval(() => (most = Math.max(most, residentMb(service.pid))), SAMPLE_MS)
  const startMs = performance.now()
  const { latencies } = await probe.during(work).finally(() => clearInterval(timer))
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
  console.log(`${name}: ${seconds} s, resident ${before.toFixed(0)} MB, at most ${(most - before).toFixed(0)} MB more`)
  for (const [target, { calls, failed, p50Ms, p99Ms, maxMs }] of latencies) {
    const ms = [p50Ms, p99Ms, maxMs].map((value) => value.toFixed(1)).join(' / ')
    console.log(`  ${target.padEnd(13)} p50 / p99 / longest ${ms} ms of ${calls} calls, ${failed} failed`)
  }
}

/** The document with another version, which does not break the former one. */
function toBody(version: string) {
  const document = JSON.parse(readGithubDocument().toString()) as { info: object }
  const text = JSON.stringify({ ...document, info: { ...document.info, version } }, null, 2)
  return { api: API, specification: Buffer.from(text).toString('base64') }
}

async function send({ service, platform }: Subject, path: string, body?: object): Promise<{ id: string }> {
  const { statusCode, body: answer } = await request(service.baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await platform.token()}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
  const text = await answer.text()
  if (statusCode >= 300) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`)
  return JSON.parse(text) as { id: string }
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_000
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
