// @module-tag postgres

import { openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { credentialUsesContract } from './credential-uses.contract.ts'

const server = usePostgres()

credentialUsesContract('postgres', async () => {
  const url = await server.createDatabase()
  const nodes = [await openTestPostgres(url), await openTestPostgres(url)] as const
  return [nodes[0].credentialUses, nodes[1].credentialUses]
})
