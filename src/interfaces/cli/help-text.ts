/** Examples at the end of the help of a command, on every level. */

import type { Command } from 'commander'

/** A command line, and what it does. */
export type Example = readonly [line: string, meaning: string]

/** Prefixes of the ids that a group takes. */
const PREFIXES: Readonly<Record<string, string>> = {
  approvals: 'apf',
  consumers: 'con',
  credentials: 'sub',
  identityproviders: 'idp',
  openapispecs: 'oas',
  openslaspecs: 'sla',
  products: 'prd',
  programmes: 'prg',
  proxies: 'prx',
  subscriptions: 'sub',
  tenants: 'ten',
  webhooks: 'evs',
}
const ARGUMENTS: Readonly<Record<string, string>> = {
  'credential-id': 'crd_…',
  'flow-id': 'apf_…',
  'risk-id': 'rsk_…',
  file: 'openapi.yaml',
}

export function addExamples(command: Command, examples: readonly Example[]): void {
  if (examples.length === 0) return
  const lines = examples.map(([line, meaning]) => `  $ ${line}\n      ${meaning}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** Adds its examples to each subcommand of a group: those of the group that call it, or one made from its arguments. */
export function addSubcommandExamples(group: Command, examples: readonly Example[]): void {
  for (const sub of group.commands) {
    const start = `tollgate ${group.name()} ${sub.name()}`
    const own = examples.filter(([line]) => line === start || line.startsWith(`${start} `))
    addExamples(sub, own.length > 0 ? own : [makeExample(start, group.name(), sub)])
  }
}

function makeExample(start: string, group: string, command: Command): Example {
  const values = command.registeredArguments.map((argument) => sampleOf(argument.name(), group))
  const required = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, flags }) => [long ?? '', /<([^>]+)>/.exec(flags)?.[1]?.toUpperCase() ?? ''])
  const takesBody = command.options.some(({ long }) => long === '--input')
  const body = takesBody ? ['--input', `${command.name()}.yaml`] : []
  const meaning = command.description().replace(/\.$/, '')
  return [[start, ...values, ...required, ...body].join(' '), meaning.charAt(0).toLowerCase() + meaning.slice(1)]
}

function sampleOf(name: string, group: string): string {
  const prefix = name === 'id' ? PREFIXES[group] : undefined
  if (prefix !== undefined) return `${prefix}_…`
  return name === 'name' && group === 'apis' ? 'orders-v1' : (ARGUMENTS[name] ?? name.toUpperCase())
}
