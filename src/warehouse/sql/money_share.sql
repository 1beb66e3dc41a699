-- An equal share of an amount in USD, in whole pico-dollars, rounded down; division would make a DOUBLE of it.
CREATE OR REPLACE MACRO money_share(amount, among) AS
    (
        ((amount * 1000000000000::DECIMAL(13, 0))::HUGEINT // among)::DECIMAL(26, 0) * 0.000000000001::DECIMAL(12, 12)
    )::DECIMAL(38, 12);
