/**
 * Replaces names of consumers in stored rows: line items, the request log and risk events.
 *
 * The engine rewrites the column of the parts that contain such rows, and no other column, so the amounts of a bill stay. It
 * remembers a rewrite that did not finish, and continues it after a restart. Hourly totals have no names.
 */

import type { NameStore } from '../name-store.ts'
import { within, type ClickHouse } from './client.ts'
import { synchronise } from './replicas.ts'

interface Rewrite {
  readonly table: string
  readonly assignment: string
  readonly condition: string
}

export function createClickHouseNameStore(client: ClickHouse): NameStore {
  async function count(query: string): Promise<number> {
    const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(undefined) })
    const [row] = await result.json<{ rows: string | number }>()
    return Number(row?.rows ?? 0)
  }

  return {
    async replaceConsumerName(tenant, consumer, name) {
      await synchronise(client, ['line_items', 'request_log', 'risk_events'])
      let replaced = 0
      for (const { table, assignment, condition } of rewritesOf(tenant, consumer, name)) {
        const rows = await count(`SELECT count() AS rows FROM ${table} WHERE ${condition}`)
        if (rows === 0) continue
        replaced += rows
        const query = `ALTER TABLE ${table} UPDATE ${assignment} WHERE ${condition} SETTINGS mutations_sync = 1`
        await client.newParts.verified(async () => {
          await client.command({ query, abort_signal: within(undefined) })
        })
      }
      return replaced
    },
  }
}

function rewritesOf(tenant: string, consumer: string, name: string): readonly Rewrite[] {
  const of = `tenant = ${literal(tenant)}`
  const named = {
    assignment: `consumer_name = ${literal(name)}`,
    condition: `${of} AND consumer = ${literal(consumer)} AND consumer_name != ${literal(name)}`,
  }
  return [{ table: 'line_items', ...named }, { table: 'request_log', ...named }, riskRewrite(of, consumer, name)]
}

/** The body of a risk event is JSON; its message begins with the name of the party. */
function riskRewrite(of: string, consumer: string, name: string): Rewrite {
  const start = `"id":${JSON.stringify(consumer)},"name":"`
  const after = JSON.stringify(name).slice(1)
  const before = `extract(body, ${literal(`${escapeRegex(start)}((?:[^"\\\\]|\\\\.)*)"`)})`
  const message = `concat('"message":"', ${before})`
  const inMessage = `replaceOne(body, ${message}, ${literal(`"message":"${after.slice(0, -1)}`)})`
  return {
    table: 'risk_events',
    assignment: `body = replaceOne(${inMessage}, concat(${literal(start)}, ${before}, '"'), ${literal(start + after)})`,
    condition: `${of} AND position(body, ${literal(start)}) > 0 AND position(body, ${literal(start + after)}) = 0`,
  }
}

function escapeRegex(text: string): string {
  return text.replaceAll(/[^\w"]/g, String.raw`\$&`)
}

/** A text as hexadecimal digits, because a rewrite cannot have parameters. */
function literal(text: string): string {
  return `unhex('${Buffer.from(text.toWellFormed()).toString('hex')}')`
}
