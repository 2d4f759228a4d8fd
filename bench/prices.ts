/** List prices in dollars per million, us-east-1, on demand. S3 deletes are free. */
export const PRICES = {
  writeUnit: 0.625,
  readUnit: 0.125,
  s3Put: 5,
  s3Get: 0.4,
} as const;
