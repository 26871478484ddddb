/** Finds the gateway of a service by `{base_url}/.well-known/tollgate`, and warns of a newer major version. */

import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { toPlain } from '../output/plain-text.ts'
import { readVersion } from '../../../foundation/runtime/version.ts'
import { checkAddress, parseJson, send } from './http.ts'

export interface Service {
  readonly baseUrl: string
  readonly gatewayUrl: string
  readonly riskUrl: string
  readonly version: string
}

const DISCOVERY_PATH = '/.well-known/tollgate'

export async function discover(baseUrl: string, io: Io): Promise<Service> {
  const answer = await send(`${baseUrl}${DISCOVERY_PATH}`)
  const found = parseJson(answer) as Partial<Record<keyof Service, unknown>> | null | undefined
  const { gatewayUrl, riskUrl, version } = found ?? {}
  if (answer.status !== 200 || typeof gatewayUrl !== 'string' || typeof version !== 'string') {
    throw new CommandFailed(
      `${baseUrl} is not the platform address of a tollgate service: ${DISCOVERY_PATH} answered ${answer.status}.`,
    )
  }
  warnOfVersion(version, io)
  return {
    baseUrl,
    gatewayUrl: checkAddress(gatewayUrl, 'The gatewayUrl of the service'),
    riskUrl: typeof riskUrl === 'string' ? checkAddress(riskUrl, 'The riskUrl of the service') : baseUrl,
    version,
  }
}

function warnOfVersion(version: string, { err }: Io): void {
  const own = readVersion()
  if (majorOf(version) > majorOf(own)) {
    err.write(
      `tollgate: warning: the service has version ${toPlain(version).slice(0, 40)}, this tool ${own}. Update the tool: it may not know all fields.\n`,
    )
  }
}

function majorOf(version: string): number {
  return Number(/^\d{1,6}/.exec(version)?.[0] ?? 0)
}
