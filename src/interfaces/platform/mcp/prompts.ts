/** The prompts: questions that people ask often, with the tools that answer them. */

import type { Fields } from '../../../foundation/json/fields.ts'
import { InvalidParams } from './answer-tools.ts'
import type { Exchange } from './exchange.ts'

interface Argument {
  readonly name: string
  readonly description: string
  readonly required: boolean
}

interface Prompt {
  readonly title: string
  readonly description: string
  readonly arguments: readonly Argument[]
  /** The operation without which the question has no answer. */
  readonly operationId: string
  readonly write: (value: (name: string) => string | null) => string
}

const LENGTH_MAX = 256

const PROMPTS: Readonly<Record<string, Prompt>> = {
  why_did_my_call_fail: {
    title: 'Why did my call fail?',
    description: 'Explains a refused call, and says what to change.',
    arguments: [
      {
        name: 'request_id',
        description: 'The X-Request-Id of the response. Without it, the latest refused calls are examined.',
        required: false,
      },
      { name: 'api', description: 'The technical name of the API, such as orders-v1.', required: false },
    ],
    operationId: 'getRequest',
    write(value) {
      const id = value('request_id')
      const api = value('api')
      const scope = api === null ? '' : ` with \`api\` ${api}`
      const first =
        id === null
          ? `Find the latest refused calls with the tool find_calls${scope}, and explain the newest one with explain_call.`
          : `Explain the call ${id} with the tool explain_call. If it is not stored, look for it with find_calls${scope}.`
      return (
        `${first} Say in plain words which stage refused it and why, and what the caller must change: the credential, its ` +
        'scopes, the request or the rate. If a limit refused it, look at remaining_allowance of the subscription and say ' +
        'when the call will succeed. Quote the detail of the refusal, and do not guess at values that you have not read.'
      )
    },
  },
  review_api: {
    title: 'Review this API',
    description: 'Reviews the document, the declaration and the behaviour of an API.',
    arguments: [{ name: 'api', description: 'The technical name of the API, such as orders-v1.', required: true }],
    operationId: 'getApi',
    write: (value) =>
      `Review the API ${value('api')}. Read it with get_api, its latest OpenAPI document with find_specifications and ` +
      'read_specification, and its declaration in force with find_declarations and read_declaration. Check the document ' +
      'with check_document, and compare the promises with service_level and api_compliance. Report, the most important ' +
      'first: breaking or unclear parts of the contract, missing descriptions and error responses, security, limits and ' +
      'prices that do not fit the operations, and drifts of the implementation. Name the path or pointer of each finding, and ' +
      'propose the change as text.',
  },
  who_uses_most: {
    title: 'Who uses most of it?',
    description: 'Ranks the consumers of an API, or of all APIs, by their usage.',
    arguments: [
      { name: 'api', description: 'The technical name of the API. Without it, all APIs.', required: false },
      { name: 'days', description: 'The number of days up to now. Default: 30.', required: false },
    ],
    operationId: 'listSummaries',
    write(value) {
      const api = value('api')
      const of = api === null ? 'all APIs' : `the API ${api}`
      const filter = api === null ? '' : ` and \`api\` ${api}`
      return (
        `Rank the consumers of ${of} by usage in the last ${value('days') ?? '30'} days. Call usage_totals with \`groupBy\` ` +
        `customer${filter} and a matching \`from\`; follow \`next\` until the last page. Show a table with consumer, calls, ` +
        'resource units and cost, the largest first, with the share of each. Then, for the first one, show with `groupBy` ' +
        'operation what it calls most, and whether current_risks names it.'
      )
    },
  },
}

export async function listPrompts({ tools, permitted }: Exchange): Promise<Fields> {
  const isPermitted = await permitted()
  const prompts = Object.entries(PROMPTS)
    .filter(([, { operationId }]) => {
      const tool = tools.all.get(operationId)
      return tool !== undefined && isPermitted(tool.declaration)
    })
    .map(([name, { title, description, arguments: args }]) => ({ name, title, description, arguments: args }))
  return { prompts }
}

export function getPrompt(name: string, values: Fields): Fields {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined
  if (prompt === undefined) throw new InvalidParams('There is no prompt of this name.')
  const given = new Map<string, string>()
  for (const [argument, value] of Object.entries(values)) {
    const isKnown = prompt.arguments.some((each) => each.name === argument)
    if (!isKnown || typeof value !== 'string' || value.length > LENGTH_MAX) {
      throw new InvalidParams(`An argument is unknown, no string, or longer than ${LENGTH_MAX} characters.`)
    }
    given.set(argument, value)
  }
  const missing = prompt.arguments.find((each) => each.required && (given.get(each.name) ?? '') === '')
  if (missing !== undefined) throw new InvalidParams(`The argument \`${missing.name}\` is required.`)
  const text = prompt.write((argument) => given.get(argument) || null)
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}
