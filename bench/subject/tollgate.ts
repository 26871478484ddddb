/**
 * tollgate with one gateway thread, set up over its public API: token, scope, two limits, quota,
 * units, a validated path, the spool.
 *
 * What is counted is the gateway thread, found by its name; the rest of the process (pipeline, embedded
 * store) is reported beside it.
 */

import { enrol, type Enrolment } from '../../src/cli/enrol.ts'
import { createPlatformClient, type PlatformClient } from '../../src/cli/platform-client.ts'
import { startService, type ServiceOptions, type ServiceProcess } from '../../src/cli/service-process.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs, threadsCpu } from '../process-cpu.ts'
import { BENCH_API, BENCH_OPENAPI, BENCH_OPENSLA } from './bench-api.ts'

export interface Subject {
  readonly service: ServiceProcess
  readonly platform: PlatformClient
  readonly enrolment: Enrolment
}

export async function startSubject(backendPort: number, options: ServiceOptions = {}): Promise<Subject> {
  const service = await startService({ args: ['--empty'], env: { GATEWAY_THREADS: '1' }, ...options })
  try {
    const platform = createPlatformClient(service)
    await deploy(platform, `http://127.0.0.1:${backendPort}`)
    const enrolment = await enrol({
      platform,
      gatewayUrl: service.gatewayUrl,
      api: BENCH_API,
      name: 'bench',
      kind: 'application',
    })
    return { service, platform, enrolment }
  } catch (error) {
    await service.stop()
    throw error
  }
}

export async function startTollgate(
  backendPort: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Contestant> {
  const { service, enrolment } = await startSubject(backendPort, { env: { GATEWAY_THREADS: '1', ...settings } })
  const { pid } = service
  return {
    name: 'tollgate, full call (gateway thread)',
    url: service.gatewayUrl + BENCH_PATH,
    token: enrolment.token,
    cpuMs: () => gatewayCpuMs(pid),
    wholeCpuMs: () => processCpuMs(pid),
    stop: () => service.stop(),
  }
}

/** CPU of the one gateway thread so far. */
export function gatewayCpuMs(pid: number): number {
  const threads = threadsCpu(pid).filter(({ name }) => name.startsWith('gateway-'))
  if (threads.length !== 1) throw new Error(`expected one gateway thread, found ${threads.length}`)
  return threads.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

async function deploy(platform: PlatformClient, backendUrl: string): Promise<void> {
  const proxy = await platform.post<{ id: string }>('/v1/proxies', {
    api: BENCH_API,
    specification: toBase64(BENCH_OPENAPI),
    backend: { url: backendUrl },
  })
  await platform.post(`/v1/proxies/${proxy.id}/activate`)
  await platform.post('/v1/openslaspecs', { api: BENCH_API, specification: toBase64(BENCH_OPENSLA) })
}

function toBase64(document: unknown): string {
  return Buffer.from(JSON.stringify(document), 'utf8').toString('base64')
}
