/**
 * tollgate with one gateway thread, set up over its public API: token, scope, two limits, quota,
 * units, a validated path, the spool.
 *
 * What is counted is the gateway thread, found by its name; the rest of the process (pipeline, embedded
 * store) is reported beside it.
 */

import { enrol, type Enrolment } from '../../src/interfaces/cli/enrol.ts'
import { createPlatformClient, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceOptions, type ServiceProcess } from '../../src/interfaces/cli/service-process.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs, threadsCpu } from '../process-cpu.ts'
import { BENCH_API, BENCH_OPENAPI, BENCH_OPENSLA } from './bench-api.ts'

export interface Subject {
  readonly service: ServiceProcess
  readonly platform: PlatformClient
  readonly enrolment: Enrolment
}

export interface SubjectApi {
  readonly openapi: unknown
  readonly opensla: unknown
  /** Connections to the backend; default: that of tollgate. */
  readonly connections?: number
}

const DEFAULT_API: SubjectApi = { openapi: BENCH_OPENAPI, opensla: BENCH_OPENSLA }

export async function startSubject(
  backendPort: number,
  options: ServiceOptions = {},
  api = DEFAULT_API,
): Promise<Subject> {
  const service = await startService({ args: ['--empty'], env: { GATEWAY_THREADS: '1' }, ...options })
  try {
    const platform = createPlatformClient(service)
    await deploy(platform, `http://127.0.0.1:${backendPort}`, api)
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
  api = DEFAULT_API,
): Promise<Contestant> {
  const { service, enrolment } = await startSubject(backendPort, { env: { GATEWAY_THREADS: '1', ...settings } }, api)
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

async function deploy(platform: PlatformClient, url: string, api: SubjectApi): Promise<void> {
  const { openapi, opensla, connections } = api
  const proxy = await platform.post<{ id: string }>('/v1/proxies', {
    api: BENCH_API,
    specification: toBase64(openapi),
    backend: { url, ...(connections !== undefined && { connections }) },
  })
  await platform.post(`/v1/proxies/${proxy.id}/activate`)
  await platform.post('/v1/openslaspecs', { api: BENCH_API, specification: toBase64(opensla) })
}

function toBase64(document: unknown): string {
  return Buffer.from(JSON.stringify(document), 'utf8').toString('base64')
}
