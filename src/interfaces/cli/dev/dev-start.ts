/** Starts the service of `tollgate dev` in its folder, with a client that it accepts. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { CommandFailed } from '../exit-codes.ts'
import { freePort, isFree } from '../free-port.ts'
import type { Io } from '../io.ts'
import { startService, type ServiceProcess } from '../service-process.ts'
import { clientForm } from '../session/session.ts'
import { OauthRefused, requestTokens, type Tokens } from '../session/tokens.ts'
import { newDataName, openDevFolder, type DevFolder, type DevState } from './dev-folder.ts'

export interface DevStartOptions {
  readonly api: string
  readonly hasDeclaration: boolean
  /** The port of the gateway; null: that of the last start, or a free one. */
  readonly port: number | null
  readonly io: Io
}

export interface StartedDev {
  readonly service: ServiceProcess
  /** Tokens for the client of `dev`. */
  readonly tokens: Tokens
  readonly folder: DevFolder
  /** Name of the data folder. */
  readonly data: string
  readonly state: DevState | null
}

/** All calls are shown, and the API has no other callers. */
const SETTINGS = { REQUEST_LOG: 'all', DEVELOPMENT: 'on', GATEWAY_THREADS: '1' }

/** A busy machine takes a while. */
const START_MS_MAX = 120_000
const HOST = '127.0.0.1'
/** A part of the refusal that the service prints if another process has locked its folder. */
const IN_USE = 'is in use by another process'

export async function startDev({ api, hasDeclaration, port, io }: DevStartOptions): Promise<StartedDev> {
  if (port !== null && !(await isFree(port, HOST)))
    throw new CommandFailed(`Port ${port} is in use. Choose another one with --port.`)
  const folder = await openDevFolder(api, io)
  const state = await usableState(folder, hasDeclaration, io)
  const data = state?.data ?? newDataName()
  const dataDir = folder.dataDirOf({ data })
  const gatewayPort = port ?? (await portOf(folder.state?.gatewayPort))
  const platformPort = await portOf(folder.state?.platformPort, port)
  const start = (client: Partial<Pick<DevState, 'clientId' | 'clientSecret'>>): Promise<ServiceProcess> =>
    startService({
      ...{ args: ['--empty'], env: SETTINGS, startMsMax: START_MS_MAX, dataDir, gatewayPort, platformPort },
      ...client,
    }).catch((cause: unknown) => {
      throw toFailure(cause, { api, dataDir })
    })
  io.err.write(`Starting a service in ${dataDir} …\n`)
  const { clientId, clientSecret } = state ?? {}
  let service = await start({
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret }),
  })
  try {
    let tokens = await signIn(service)
    if (tokens === null) {
      io.err.write(
        'Its client was revoked, as `tollgate admin reset` does. Replacing the admin client by a new one …\n',
      )
      await service.stop()
      service = await start({ clientId: `dev-${randomBytes(8).toString('hex')}` })
      tokens = await signIn(service)
    }
    if (tokens !== null) return { service, tokens, folder, data, state }
    throw new CommandFailed(`The service refuses its client. Remove ${dataDir} to begin anew; the key changes.`)
  } catch (cause) {
    await service.stop()
    throw cause
  }
}

/** Returns null to begin anew: a declaration of an earlier start cannot be taken away. */
async function usableState(
  { state, dataDirOf }: DevFolder,
  hasDeclaration: boolean,
  { err }: Io,
): Promise<DevState | null> {
  if (state === null || hasDeclaration || !state.isDeclared) return state
  err.write('Beginning anew without the declaration of the last start: the key changes.\n')
  // Another `dev` may still serve it.
  if (await isFree(state.platformPort, HOST)) await rm(dataDirOf(state), { recursive: true, force: true })
  return null
}

/** Returns the port of the last start if it is free, otherwise another one. */
async function portOf(last: number | undefined, taken: number | null = null): Promise<number> {
  return last !== undefined && last !== taken && (await isFree(last, HOST)) ? last : freePort(HOST)
}

/** Returns null if the service does not accept the client: a revoked one stays revoked. */
async function signIn({ gatewayUrl, clientId, clientSecret }: ServiceProcess): Promise<Tokens | null> {
  try {
    return await requestTokens(gatewayUrl, clientForm(clientId, clientSecret))
  } catch (cause) {
    if (cause instanceof OauthRefused && cause.code === 'invalid_client') return null
    throw cause
  }
}

function toFailure(cause: unknown, { api, dataDir }: { readonly api: string; readonly dataDir: string }): unknown {
  if (!(cause instanceof Error) || !cause.message.includes(IN_USE)) return cause
  const detail = `tollgate dev already serves ${api} for this working directory, in ${dataDir}.`
  return new CommandFailed(`${detail} Stop it, or start in another directory.`)
}
