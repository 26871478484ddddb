/**
 * express-gateway with its policies jwt, rate-limit and proxy.
 *
 * Its last release is of 2021, so it is not in `bench/package.json`. Install it elsewhere:
 *
 *   npm install --prefix /tmp/eg express-gateway@1.16.11 && export EXPRESS_GATEWAY=/tmp/eg
 *
 * It verifies the signature of every call and ignores the scope of the token. It counts calls in an emulation of Redis within the
 * process, which is its default.
 */

import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import type { Contestant } from '../contestant.ts'
import type { Workbench } from '../workbench.ts'
import { startNodeStack } from './node-stack.ts'

const SYSTEM = `db: { redis: { emulate: true, namespace: EG } }
crypto: { cipherKey: bench, algorithm: aes256, saltRounds: 10 }
session: { secret: bench, resave: false, saveUninitialized: false }
accessTokens: { timeToExpiry: 7200000 }
refreshTokens: { timeToExpiry: 7200000 }
authorizationCodes: { timeToExpiry: 300000 }
`

/** The key of the rate limit: the address is the default, the client is an expression evaluated for every call. */
const KEYS = { address: null, client: 'req.user.client_id' } as const

export async function startExpressGateway(
  workbench: Workbench,
  folder: string,
  key: keyof typeof KEYS,
): Promise<Contestant> {
  const root = join(folder, 'node_modules/express-gateway/lib')
  const config = join(workbench.dir, `express-gateway-${key}`)
  mkdirSync(config)
  cpSync(join(root, 'config/models'), join(config, 'models'), { recursive: true })
  writeFileSync(join(config, 'system.config.yml'), SYSTEM)
  const port = await freePort()
  writeFileSync(join(config, 'gateway.config.yml'), gatewaySettings(workbench, port, KEYS[key]))
  return startNodeStack(workbench, {
    name: `express-gateway, limit by ${key}`,
    script: join(root, 'index.js'),
    env: { EG_CONFIG_DIR: config, LOG_LEVEL: 'error', NODE_NO_WARNINGS: '1' },
    port,
  })
}

function gatewaySettings({ publicKeyPath, backendPort }: Workbench, port: number, key: string | null): string {
  return `http: { port: ${port}, hostname: 127.0.0.1 }
apiEndpoints:
  bench: { host: '*', paths: '/bench-v1/*' }
serviceEndpoints:
  backend: { url: 'http://127.0.0.1:${backendPort}' }
policies: [jwt, rate-limit, proxy]
pipelines:
  bench:
    apiEndpoints: [bench]
    policies:
      - jwt:
          - action: { secretOrPublicKeyFile: '${publicKeyPath}', checkCredentialExistence: false }
      - rate-limit:
          - action: { max: 1000000000, windowMs: 1000, delayAfter: 0, delayMs: 0${key === null ? '' : `, rateLimitBy: '\${${key}}'`} }
      - proxy:
          - action: { serviceEndpoint: backend }
`
}
