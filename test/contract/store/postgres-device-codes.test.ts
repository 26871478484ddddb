// @module-tag postgres

import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SCHEMA } from '../../../src/storage/store/postgres/connection.ts'
import { createPostgresDeviceCodes } from '../../../src/storage/store/postgres/device-codes.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { deviceCode, deviceCodesContract } from './device-codes.contract.ts'

const server = usePostgres()

deviceCodesContract('postgres', async (codesMax) => {
  const { url, codes } = await openCodes(codesMax)
  return { codes, forward: (ms) => forward(url, ms) }
})

async function openCodes(codesMax: number) {
  const url = await server.createDatabase()
  await openTestPostgres(url)
  const openNode = () => {
    const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${SCHEMA}`, max: 3 })
    onTestFinished(() => pool.end())
    return createPostgresDeviceCodes(pool, codesMax)
  }
  return { url, codes: openNode(), openNode }
}

/** Moves what is stored into the past. */
async function forward(url: string, ms: number): Promise<void> {
  const columns = ['expires_at', 'remembered_until', 'polled_at', 'asked_at']
  const moved = columns.map((column) => `${column} = ${column} - interval '${ms} milliseconds'`)
  await executeSql(url, `UPDATE device_code SET ${moved.join(', ')}`)
}

describe('device codes on several nodes', () => {
  it('stay within their bound when nodes add at once', async () => {
    const { url, codes, openNode } = await openCodes(20)
    const nodes = [codes, openNode(), openNode()]
    await codes.add(deviceCode('own', 'someone else'))
    await Promise.all(Array.from({ length: 90 }, (_, index) => nodes[index % 3]!.add(deviceCode(`x${index}`, 'flood'))))
    const { rows } = await executeSql(url, 'SELECT count(*) FROM device_code')
    expect(Number(rows[0]?.['count'])).toBe(20)
    expect(await nodes[1]!.find('own')).not.toBeNull()
  })

  it('are decided on one node and taken on another, once', async () => {
    const { codes, openNode } = await openCodes(20)
    const other = openNode()
    await codes.add(deviceCode('a'))
    expect(await other.decide('a', 'yes')).toBe(true)
    expect(await codes.decide('a', 'no')).toBe(false)
    expect((await Promise.all([codes.take('a'), other.take('a')])).filter(Boolean)).toHaveLength(1)
  })

  it('are refused with an error of the store while PostgreSQL does not answer', async () => {
    const own = await createPostgresServer()
    const { deviceCodes } = await openTestPostgres(await own.createDatabase())
    await own.remove()
    await expect(deviceCodes.add(deviceCode('a'))).rejects.toBeInstanceOf(StoreUnwritable)
    await expect(deviceCodes.take('a')).rejects.toBeInstanceOf(StoreUnwritable)
  })
})
