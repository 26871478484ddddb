/**
 * What every contestant of the gateway bench is given: a folder, a backend that costs next to nothing,
 * and a key with a token of the shape that tollgate mints.
 */

import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../src/interfaces/cli/free-port.ts'
import { nginxSettings } from './rivals/nginx-settings.ts'
import { startProgram } from './program.ts'

export interface Workbench {
  readonly dir: string
  readonly backendPort: number
  /** What a client sends to contestants that know `publicKeyPath`. */
  readonly token: string
  readonly publicKeyPath: string
  close(): Promise<void>
}

export interface WorkbenchOptions {
  /** Returns further locations of the backend, in the language of nginx; `http://self` is the backend itself. */
  locations?(dir: string): string
}

/** 100 bytes, the answer to every call. */
export const ANSWER = JSON.stringify({ id: 'itm_0f6b1c9d2e3a4758', state: 'ready', note: 'x'.repeat(45) })

export async function openWorkbench(options: WorkbenchOptions = {}): Promise<Workbench> {
  const dir = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  // The worker of an nginx that root starts runs as another user, and needs its temporary files.
  chmodSync(dir, 0o755)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyPath = join(dir, 'public.pem')
  writeFileSync(publicKeyPath, publicKey.export({ type: 'spki', format: 'pem' }))

  const backendPort = await freePort()
  const configPath = join(dir, 'backend.conf')
  const answer = `location / { default_type application/json; return 200 '${ANSWER}'; }`
  const server = `server { listen 127.0.0.1:${backendPort}; ${options.locations?.(dir) ?? ''} ${answer} }`
  const self = `upstream self { server 127.0.0.1:${backendPort}; keepalive 64; keepalive_requests 1000000000; }`
  writeFileSync(configPath, nginxSettings(dir, 'backend', `${self} ${server}`))
  const backend = await startProgram({ command: 'nginx', args: ['-c', configPath], port: backendPort })

  return {
    dir,
    backendPort,
    token: mint(privateKey),
    publicKeyPath,
    async close() {
      await backend.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function mint(key: KeyObject): string {
  const nowSeconds = Math.floor(Date.now() / 1000)
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = [
    part({ alg: 'ES256', typ: 'at+jwt', kid: 'k_01kb9x7e5ffm2a' }),
    part({
      iss: 'http://127.0.0.1:8080/bench-v1',
      sub: 'cns_01kb9x7e5ffm2a3q4r5s6t7u8v',
      client_id: 'cli_01kb9x7e5ffm2a3q4r5s6t7u8v',
      aud: 'bench-v1',
      scope: 'items:read',
      tenant: 'default',
      subscription: 'sub_01kb9x7e5ffm2a3q4r5s6t7u8v',
      iat: nowSeconds,
      nbf: nowSeconds,
      exp: nowSeconds + 86_400,
      jti: 'jti_01kb9x7e5ffm2a3q4r5s6t7u8v',
    }),
  ].join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
