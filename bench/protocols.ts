/**
 * P1w, P11, P12: what a full call costs the whole process over plain HTTP/1.1, over HTTPS and over HTTP/2, beside nginx that merely
 * proxies in the same way. wrk loads HTTP/1.1 with 32 connections, h2load HTTP/2 with 8 connections of 8 streams. The two nginx
 * workers and the two services run at once and are loaded in turn; a ratio is made of two samples that follow each other.
 *
 *   BENCH_ROUNDS=5 BENCH_SECONDS=4 node bench/protocols.ts
 */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { createCertificate } from '../test/fixtures/x509.ts'
import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine, versionOf } from './machine.ts'
import { startNginx, type CertificatePaths } from './rivals/nginx.ts'
import { spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench, type Workbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const [CONNECTIONS, STREAM_CONNECTIONS, STREAMS] = [32, 8, 8]
const DAY_MS = 86_400_000

interface Protocol {
  readonly id: string
  readonly name: string
  readonly isSecure: boolean
  readonly run: (contestant: Contestant) => Promise<{ readonly calls: number; readonly failed: number }>
}

const byWrk: Protocol['run'] = ({ url, token }) => load({ url, token, connections: CONNECTIONS, seconds: SECONDS })
const PROTOCOLS: readonly Protocol[] = [
  { id: 'P1w', name: 'HTTP/1.1', isSecure: false, run: byWrk },
  { id: 'P11', name: 'HTTPS', isSecure: true, run: byWrk },
  { id: 'P12', name: 'HTTP/2', isSecure: true, run: byH2load },
]

console.log(`machine: ${describeMachine()}`)
console.log(`load:    ${ROUNDS} rounds of ${SECONDS} s each\n`)
for (const [name, flag] of [
  ['wrk', '--version; true'],
  ['nginx', '-v'],
  ['h2load', '--version'],
] as const) {
  if (versionOf(name, flag) !== null) continue
  console.log(`not run: ${name} is missing (Debian: wrk nginx nghttp2-client)`)
  process.exit(1)
}

const workbench = await openWorkbench()
const certificate = writeCertificate(workbench)
const tls = { TLS_CERT_FILE: certificate.certPath, TLS_KEY_FILE: certificate.keyPath }
const started: Contestant[] = []
const start = async (contestant: Promise<Contestant>): Promise<Contestant> => {
  started.push(await contestant)
  return started.at(-1)!
}
try {
  const plain = [await start(startTollgate(workbench.backendPort)), await start(startNginx(workbench))] as const
  const secure = [
    await start(startTollgate(workbench.backendPort, tls)),
    await start(startNginx(workbench, certificate)),
  ] as const
  for (const protocol of PROTOCOLS) await compare(protocol, protocol.isSecure ? secure : plain)
} finally {
  for (const contestant of started) await contestant.stop()
  await workbench.close()
}

async function compare(protocol: Protocol, [ours, nginx]: readonly [Contestant, Contestant]): Promise<void> {
  const samples: { readonly ours: number; readonly thread: number; readonly nginx: number }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const { whole, thread } = await take(protocol, ours)
    const sample = { ours: whole, thread, nginx: (await take(protocol, nginx)).whole }
    // The first round warms up.
    if (round > 0) samples.push(sample)
  }
  const text = (read: (sample: (typeof samples)[number]) => number, digits: number): string =>
    toText(spreadOf(samples.map(read)), digits)
  console.log(`${protocol.id}  ${protocol.name}`)
  console.log(`  nginx             ${text((sample) => sample.nginx, 1)} µs per call`)
  console.log(`  tollgate          ${text((sample) => sample.ours, 1)} µs per call`)
  console.log(`  gateway thread    ${text((sample) => sample.thread, 1)} µs per call`)
  console.log(`  tollgate ÷ nginx  ${text((sample) => sample.ours / sample.nginx, 2)}\n`)
}

async function take({ name, run }: Protocol, contestant: Contestant): Promise<{ whole: number; thread: number }> {
  const { cpuMs, wholeCpuMs = cpuMs } = contestant
  const [threadMs, wholeMs] = [cpuMs(), wholeCpuMs()]
  const { calls, failed } = await run(contestant)
  if (failed > 0 || calls === 0) throw new Error(`${contestant.name}, ${name}: ${failed} of ${calls} calls failed`)
  return { whole: ((wholeCpuMs() - wholeMs) * 1_000) / calls, thread: ((cpuMs() - threadMs) * 1_000) / calls }
}

async function byH2load({ url, token }: Contestant): Promise<{ calls: number; failed: number }> {
  const { stdout } = await promisify(execFile)('h2load', [
    '--threads=1',
    `--clients=${STREAM_CONNECTIONS}`,
    `--max-concurrent-streams=${STREAMS}`,
    `--duration=${SECONDS}`,
    `--header=authorization: Bearer ${token}`,
    url,
  ])
  const read = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? NaN)
  const [calls, failed] = [read(/(\d+) succeeded/), read(/(\d+) failed/)]
  return { calls, failed: failed + read(/ (\d+) 3xx/) + read(/ (\d+) 4xx/) + read(/ (\d+) 5xx/) }
}

/** This process trusts the certificate, since it sets up the service. */
function writeCertificate({ dir }: Workbench): CertificatePaths {
  const nowMs = Date.now()
  const { cert, key } = createCertificate({
    name: 'localhost',
    hosts: ['localhost', '127.0.0.1'],
    startsMs: nowMs - DAY_MS,
    endsMs: nowMs + DAY_MS,
  })
  const [certPath, keyPath] = [join(dir, 'tls.crt'), join(dir, 'tls.key')]
  writeFileSync(certPath, cert)
  writeFileSync(keyPath, key)
  setDefaultCACertificates([...getCACertificates('default'), cert.toString()])
  return { certPath, keyPath }
}
