/** Flags that print a text and exit: `--help`, `--version`, `--help-first-steps`. They open and change nothing. */

import { urlOf } from './addresses.ts'
import { readConfig } from '../config.ts'
import { FIRST_STEPS_TITLE, firstSteps, SAMPLE_CALL } from '../onboarding/first-steps.ts'
import { readVersion } from '../../foundation/runtime/version.ts'
import { usage } from './help.ts'

const FIRST_STEPS_FLAG = '--help-first-steps'

/** Returns null if no such flag is given. Throws `ConfigError` if an address to be shown is malformed. */
export function information(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  if (argv.includes('--help') || argv.includes('-h')) return usage(readVersion())
  if (argv.includes('--version')) return `${readVersion()}\n`
  if (!argv.includes(FIRST_STEPS_FLAG)) return null
  const config = readConfig(
    argv.filter((argument) => argument !== FIRST_STEPS_FLAG),
    environment,
  )
  const { host, gatewayPort, platformPort, riskPort, tls } = config
  const isSecure = tls !== null
  const baseUrl = config.baseUrl ?? urlOf(host, platformPort, isSecure)
  const commands = firstSteps({
    gatewayUrl: config.gatewayUrl ?? urlOf(host, gatewayPort, isSecure),
    baseUrl,
    riskUrl: config.riskUrl ?? (riskPort === null ? baseUrl : urlOf(host, riskPort, isSecure)),
    admin: null,
    client: null,
    ...SAMPLE_CALL,
  })
  return `${[
    `${FIRST_STEPS_TITLE}:`,
    '',
    ...commands,
    '',
    'Put your credentials in place of YOUR_…: the first start printed those of the admin;',
    `GET ${baseUrl}/v1/subscriptions/{id}/credentials shows those of a consumer.`,
    'A lost admin secret is replaced by: npx tollgate admin reset --data-dir DIR',
  ].join('\n')}\n`
}
