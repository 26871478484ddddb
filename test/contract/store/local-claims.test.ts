import { createLocalClaims } from '../../../src/storage/store/claims.ts'
import { claimsContract } from './claims.contract.ts'

claimsContract('one node', createLocalClaims)
